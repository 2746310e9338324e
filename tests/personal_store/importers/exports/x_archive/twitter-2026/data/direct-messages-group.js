window.YTD.direct_messages_group.part0 = [
  {
    "dmConversation" : {
      "conversationId" : "5005",
      "messages" : [
        {
          "conversationNameUpdate" : { "initiatingUserId" : "22", "name" : "Boat shed", "createdAt" : "2023-06-02T08:00:00.000Z" }
        },
        {
          "messageCreate" : {
            "reactions" : [ ],
            "urls" : [ ],
            "text" : "I can bring the long ladder & the short one",
            "mediaUrls" : [ ],
            "senderId" : "11",
            "id" : "7101",
            "createdAt" : "2023-06-02T08:01:00.000Z"
          }
        },
        {
          "participantsLeave" : { "userIds" : [ "33" ], "createdAt" : "2023-06-02T08:02:00.000Z" }
        }
      ]
    }
  }
]
