"""What importers share: tables, JSON objects, chats, documents."""
