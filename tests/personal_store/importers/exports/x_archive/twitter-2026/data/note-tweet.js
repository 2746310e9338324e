window.YTD.note_tweet.part0 = [
  {
    "noteTweet" : {
      "noteTweetId" : "800",
      "createdAt" : "2023-05-08T08:00:00.000Z",
      "updatedAt" : "2023-05-08T08:00:00.000Z",
      "core" : {
        "text" : "Nobody tells you that the hard part of building a boat is the waiting: for the glue, for the paint, for the tide, for the one friend with a trailer, and then for the courage to put it in the water.\n\nWe put it in on Monday.",
        "urls" : [ ], "mentions" : [ ], "hashtags" : [ ], "cashtags" : [ ]
      }
    }
  },
  {
    "noteTweet" : {
      "noteTweetId" : "801",
      "createdAt" : "2022-02-08T08:00:00.000Z",
      "core" : { "text" : "A long one whose short one is not in this archive." }
    }
  }
]
