window.YTD.account.part0 = [
  {
    "account" : {
      "email" : "tess@example.org",
      "createdVia" : "web",
      "username" : "tessfield",
      "accountId" : "11",
      "createdAt" : "2012-03-01T10:00:00.000Z",
      "accountDisplayName" : "Tess Field"
    }
  }
]
