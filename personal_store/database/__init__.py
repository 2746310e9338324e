"""The store file: connections, schema, keys, encryption, copies."""
