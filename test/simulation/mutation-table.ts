/** One rule broken on purpose: texts that stand in a file once each, and what replaces them. */
export interface Mutation {
  readonly rule: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** The first seed to try; 1 unless only a rare life shows the breach. */
  readonly seed?: number
}

/** Every rule whose breach the simulation must notice. */
export const mutations: readonly Mutation[] = [
  {
    rule: 'skip the bloom check',
    file: 'src/chains/chain/verify-logs.ts',
    from: 'if (!explainsBloom(header, filter, logs))',
    to: 'if (!Array.isArray(logs))',
  },
  {
    rule: 'trust an empty answer',
    file: 'src/chains/chain/verify-logs.ts',
    from: 'if (!explainsBloom(header, filter, logs))',
    to: 'if (logs.length > 0 && !explainsBloom(header, filter, logs))',
  },
  {
    rule: 'trust a made-up log',
    file: 'src/chains/chain/verify-logs.ts',
    from: '      refuseForged(header, logs)\n',
    to: '      if (logs.length < 0) refuseForged(header, logs)\n',
    // The receipts give most made-up logs away, too.
    seed: 220,
  },
  {
    rule: 'accept a log of another block hash',
    file: 'src/chains/chain/verify-logs.ts',
    from: 'if (log.blockHash !== header.hash || log.blockNumber !== header.number)',
    to: 'if (log.blockNumber < 0)',
  },
  {
    rule: 'forget the inverse fold of events',
    file: 'src/chains/indexer/events/store-events.ts',
    from: '  await foldEvents(connection, { dataset, byAccount, keepHours: true }, contributions)\n',
    to: '',
  },
  {
    rule: 'forget the inverse fold of balances',
    file: 'src/chains/datasets/holders/dataset.ts',
    from: '  await moveBalances(change, undone, { before, since, last })\n',
    to: '  if (undone.length < 0) await moveBalances(change, undone, { before, since, last })\n',
  },
  {
    rule: 'move the cursor before the facts, outside their transaction',
    file: 'src/chains/indexer/commit.ts',
    from: `  await transact(
    deps,
    async (connection) => {
      const stored = await readPosition(connection, chainId)`,
    to: `  await deps.engine.write(async (connection) => {
    const finalizedNumber = await readFinalized(connection, chainId)
    await movePosition(connection, { ...input, finalizedNumber })
  })
  await transact(
    deps,
    async (connection) => {
      const stored = expected`,
  },
  {
    rule: 'leave the cursor where it was when blocks are taken back',
    file: 'src/chains/indexer/commit.ts',
    from: '    await movePosition(change.connection, { ...change, to: ancestor, tip: input.tip })\n',
    to: '',
  },
  {
    rule: 'ignore parent links',
    file: 'src/chains/chain/follow.ts',
    from: 'if (parent !== undefined && header.parentHash !== parent)',
    to: 'if (parent !== undefined && header.number < 0)',
  },
  {
    rule: 'forget that finality never goes back',
    file: 'src/chains/indexer/commit.ts',
    from: 'Math.max(finalizedBefore, Math.min(tip',
    to: 'Math.max(0, Math.min(tip',
  },
  {
    rule: 'take final blocks back',
    file: 'src/chains/chain/follow.ts',
    from: `    if (stored === undefined && !isBeforeAll) throw new DeepReorgError(number)
    const header = await deps.source.header(number)
`,
    to: `    const header = await deps.source.header(number)
    if (header !== undefined && stored === undefined) return header
`,
  },
  {
    rule: 'read older history up to the head, before it is final',
    file: 'src/chains/indexer/chain-index.ts',
    from: 'const to = Math.min(outcome.tip.finalized - HISTORY_MARGIN, this.#position.number)',
    to: 'const to = Math.min(outcome.tip.head.number, this.#position.number)',
  },
  {
    rule: 'trust an empty range of whichever node gave it',
    file: 'src/chains/chain/endpoints/logs-fetcher.ts',
    from: 'const end = isAlone ? undefined : readEnd(ask, answer)',
    to: 'const end = undefined',
    seed: 5004,
  },
]
