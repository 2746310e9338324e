window.YTD.deleted_tweets.part0 = [ { "tweet" : { "id_str" : "1", "created_at" : "Sat May 06 18:20:30 +0000 2023", "full_text" : "I took this one back." } } ]
