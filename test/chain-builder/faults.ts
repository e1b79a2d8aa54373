/** How a provider words that a range or an answer is too large. */
export type Dialect = 'alchemy' | 'infura' | 'quicknode' | 'geth'

/** What a served chain does wrong; changed while it is served. Nothing is wrong at the start. */
export interface Faults {
  /** `eth_getLogs` by block hash or by range gives an empty list whatever the blocks hold. */
  emptyLogs: boolean
  /** `eth_getLogs` by block hash gives the logs of the newest other block that has some. */
  foreignLogs: boolean
  /** Every log twice. */
  repeatedLogs: boolean
  /** The newest block that the node tells of, as a node that lags behind. */
  headNumber: number | undefined
  /** Heights that the node says it does not know. */
  nullBlocks: Set<number>
  /** Ranges of more blocks are refused. */
  rangeMax: { readonly blocks: number; readonly dialect: Dialect } | undefined
  /** Answers of more logs are refused. */
  logsMax: { readonly logs: number; readonly dialect: Dialect } | undefined
  /** What stands in the `blockTimestamp` of logs. */
  timestamps: 'right' | 'missing' | 'zero' | 'wrong'
  receipts: 'right' | 'unsupported' | 'unknown-block'
  /** The form of the next answers, as often as it says. */
  transport: { readonly kind: 'rate-limit' | 'html' | 'truncated'; times: number } | undefined
}

export function noFaults(): Faults {
  return {
    emptyLogs: false,
    foreignLogs: false,
    repeatedLogs: false,
    headNumber: undefined,
    nullBlocks: new Set(),
    rangeMax: undefined,
    logsMax: undefined,
    timestamps: 'right',
    receipts: 'right',
    transport: undefined,
  }
}

/** The JSON-RPC error of a refusal, in the words of a provider. */
export function refusalOf(dialect: Dialect): { readonly code: number; readonly message: string } {
  switch (dialect) {
    case 'alchemy':
      return {
        code: -32602,
        message:
          'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.',
      }
    case 'infura':
      return { code: -32000, message: 'query returned more than 10000 results' }
    case 'quicknode':
      return { code: -32614, message: 'eth_getLogs is limited to a 10,000 range' }
    case 'geth':
      return { code: -32000, message: 'exceed maximum block range: 50000' }
  }
}
