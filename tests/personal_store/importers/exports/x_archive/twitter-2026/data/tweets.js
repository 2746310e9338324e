window.YTD.tweets.part0 = [
  {
    "tweet" : {
      "retweeted" : false,
      "entities" : {
        "user_mentions" : [ { "name" : "Ben", "screen_name" : "bensaws", "indices" : [ "0", "8" ], "id_str" : "22", "id" : "22" } ],
        "urls" : [ { "url" : "https://t.co/abc123", "expanded_url" : "https://tides.example.org/may", "display_url" : "tides.example.org/may", "indices" : [ "41", "64" ] } ]
      },
      "display_text_range" : [ "9", "90" ],
      "in_reply_to_status_id_str" : "9001",
      "id_str" : "9002",
      "in_reply_to_screen_name" : "bensaws",
      "in_reply_to_user_id_str" : "22",
      "created_at" : "Sat May 06 18:20:30 +0000 2023",
      "full_text" : "@bensaws @ada_marsh Low water &amp; no wind, says https://t.co/abc123 so bring the net https://t.co/pic999",
      "lang" : "en"
    }
  },
  {
    "tweet" : {
      "id_str" : "9003",
      "created_at" : "Sun May 07 08:00:00 +0000 2023",
      "full_text" : "RT @bensaws: Glue is not a plan.",
      "lang" : "en"
    }
  },
  {
    "tweet" : {
      "id_str" : "9004",
      "created_at" : "Mon May 08 08:00:00 +0000 2023",
      "full_text" : "Nobody tells you that the hard part of building a boat is the waiting: for the glue, for the paint, for the tide, for the one friend with a trailer, and then for the courage to put it in the wat… https://t.co/long1",
      "lang" : "en"
    }
  },
  {
    "tweet" : {
      "id_str" : "9005",
      "created_at" : "Tue May 09 08:00:00 +0000 2023",
      "full_text" : "So it is. RT @bensaws: Measure twice, curse once.",
      "lang" : "en"
    }
  }
]
