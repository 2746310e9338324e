window.YTD.direct_message_headers.part0 = [
  {
    "dmConversation" : {
      "conversationId" : "11-22",
      "messages" : [
        { "messageCreate" : { "id" : "7001", "senderId" : "11", "recipientId" : "22", "createdAt" : "2023-06-01T18:00:00.123Z" } }
      ]
    }
  }
]
