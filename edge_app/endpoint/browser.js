// Letters that a phone has room for, and the keyboard for the terminal at once.
const NARROW = 600; // pixels
const terminal = document.querySelector(".textual-terminal");
if (window.innerWidth < NARROW) {
  terminal.dataset.fontSize = "12";
  // On a fine screen the terminal draws letters of twice the size into its canvas.
  Object.defineProperty(window, "devicePixelRatio", { value: 1 });
}
const takeKeys = () => terminal.querySelector("textarea")?.focus();
new MutationObserver(takeKeys).observe(document.body, { attributeFilter: ["class"] });
window.addEventListener("focus", takeKeys);
