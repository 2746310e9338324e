window.YTD.direct_messages.part0 = [
  {
    "dmConversation" : {
      "conversationId" : "11-22",
      "messages" : [
        {
          "messageCreate" : {
            "recipientId" : "22",
            "reactions" : [ ],
            "urls" : [ { "url" : "https://t.co/dm1", "expanded" : "https://tides.example.org/june", "display" : "tides.example.org/june" } ],
            "text" : "The table says six in the morning: https://t.co/dm1 so set two alarms https://t.co/pic1",
            "mediaUrls" : [ "https://ton.example.org/dm/1/2/3.jpg" ],
            "senderId" : "11",
            "id" : "7001",
            "createdAt" : "2023-06-01T18:00:00.123Z",
            "editHistory" : [ ]
          }
        },
        {
          "messageCreate" : {
            "recipientId" : "11",
            "reactions" : [ { "senderId" : "11", "reactionKey" : "like", "eventId" : "7003", "createdAt" : "2023-06-01T18:06:00.000Z" } ],
            "urls" : [ ],
            "text" : "Two alarms and one neighbour who hates me",
            "mediaUrls" : [ ],
            "senderId" : "22",
            "id" : "7002",
            "createdAt" : "2023-06-01T18:05:00.000Z",
            "editHistory" : [ ]
          }
        },
        {
          "messageCreate" : {
            "recipientId" : "22",
            "reactions" : [ ],
            "urls" : [ ],
            "text" : "ha",
            "mediaUrls" : [ ],
            "senderId" : "11",
            "id" : "7004",
            "createdAt" : "2023-06-01T18:07:00.000Z",
            "editHistory" : [ ]
          }
        }
      ]
    }
  }
]
