"""Where training begins: the parent model, cut and transplanted."""
