/** Texts of a wallet's page, which are loaded with it. */
export const walletTexts = {
  free: 'This page came whole: opening it used none of your calls.',
  unknown: 'not known yet',
  worth: (time: string) => `Held, at prices of ${time}`,
  since: (change: string) => `${change} since yesterday`.trim(),
  why: (byPrice: string, moved: string) => `${byPrice} by prices, ${moved} by what came and went`,
  tier: (tier: string) => `${tier} tier`,
  callMine: 'Call it my wallet',
  copy: 'Copy address',
  seeOn: 'See it on',
  closed: {
    title: 'Enough wallets for this hour',
    more: (time: string) =>
      `Pages show 60 different wallets an hour to one network. This one is shown from ${time} on; the API has its figures at any time.`,
  },
  away: {
    title: 'The register cannot be read right now',
    more: 'Load this page again in a moment.',
  },
  held: {
    title: 'Held',
    note: 'The small figure after a chain is its newest block. Yesterday is 24 hours ago, at a full hour. Share is of the whole supply.',
    missing: (reasons: string) => `${reasons} Sums leave it out, and ranks wait for it.`,
    columns: {
      place: 'Token and chain',
      amount: 'Amount',
      change: 'Since yesterday',
      worth: 'Worth',
      share: 'Share',
      rank: 'Rank',
    },
    together: 'Together',
    each: (price: string) => `${price} each`,
    same: 'same',
    of: (holders: string) => `of ${holders}`,
    unranked: 'after the first 10,000',
    excluded: 'not a holder: it does not circulate',
  },
  done: {
    title: 'Claims, digs and burns',
    note: '“At claim” uses the price of that block, “today” the price now.',
    newest: 'Sums marked “at least” are of the newest 100 events.',
    atLeast: (figure: string) => `at least ${figure}`,
    claimed: 'Dividends claimed',
    atClaim: 'at claim',
    claims: (claims: number) => (claims === 1 ? '1 claim' : `${claims} claims`),
    last: (age: string) => `, last ${age} ago`,
    none: 'No claims of this wallet',
    dugAndBurned: 'Digs and burns',
    digs: 'Graves dug',
    dugUp: (token: string) => `${token} by digs`,
    rank: 'Among diggers',
    share: 'Of all digs',
    burns: 'Burns',
    burned: (token: string) => `${token} burned`,
    columns: {
      token: 'Claimed in',
      claims: 'Claims',
      amount: 'Amount',
      atClaim: 'At claim',
      now: 'Today',
    },
    together: 'Together',
  },
  days: {
    title: 'Day by day',
    note: 'In dollars at the time. Days are UTC.',
    unpriced: (events: number) =>
      events === 1
        ? '1 event without a price is left out.'
        : `${events} events without a price are left out.`,
    inDays: (days: number) => `in ${days} days`,
    names: { claim: 'Dividends claimed', dig: 'Graves dug', burn: 'Burned' } as Readonly<
      Record<string, string>
    >,
  },
  entries: {
    title: 'Entries of this wallet',
    none: (blocks: string) =>
      `This wallet holds none of the tokens, and has no claim, burn or dig up to ${blocks}.`,
    noEvents: 'No claim, burn or dig of this wallet yet.',
  },
  gate: {
    title: 'Tier and gate',
    note: 'What the service counts when this wallet asks for a key. Looking needs none.',
  },
  files: {
    title: 'Take it with you',
    note: 'A file costs what the same call costs.',
    columns: { file: 'File', holds: 'Holds', cost: 'Cost', get: 'Download' },
    names: { claims: 'Dividends claimed', burns: 'Burns', digs: 'Grave digs' },
    holds: 'the newest 100, with block, value then and finality',
    call: '1 call',
  },
} as const
