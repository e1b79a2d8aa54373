/** How a provider words that a range or an answer is too large. */
export type Dialect = 'alchemy' | 'infura' | 'quicknode' | 'geth'

/** Encoding of an answer: at once, in chunks, or compressed. */
export type WireForm = 'identity' | 'chunked' | 'gzip'

/** What a served chain does wrong; changed while it is served. Nothing is wrong at the start. */
export interface Faults {
  /** `eth_getLogs` by block hash gives the logs of the newest other block that has some. */
  foreignLogs: boolean
  /** Logs of lower blocks are gone: `eth_getLogs` leaves them out without a word. */
  prunedBelow: number
  /** From a block on an owner has more of a token than its transfers tell. */
  unannounced:
    | { readonly token: string; readonly owner: string; readonly fromBlock: number }
    | undefined
  /** Every log twice. */
  repeatedLogs: boolean
  /** What is missing from answers to `eth_getLogs` by block hash: all, or all but the first event's. */
  hiddenLogs: 'none' | 'all' | 'other-events'
  /** `eth_getLogs` by block hash gives one more log, which no block holds. */
  forgedLogs: boolean
  /** Logs in another order than the chain's. */
  shuffledLogs: boolean
  /** `eth_getBlockByNumber` of a height gives the block below it. */
  shiftedBlocks: boolean
  /** What becomes of the tags `safe` and `finalized`. */
  tags: 'right' | 'unsupported' | 'unknown'
  /** The error for every `eth_call`; undefined if calls succeed. */
  callRefusal: { readonly code: number; readonly message: string } | undefined
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
  /** Whose bloom a header shows; with that of the block before, it does not hash. */
  blooms: 'right' | 'of-parent'
  /** Encoding of answers without another fault. */
  wireForm: WireForm
  /** The form of the next answers, as often as it says. */
  transport: TransportFault | undefined
}

export interface TransportFault {
  readonly kind:
    | 'rate-limit'
    | 'html'
    | 'bad-gateway'
    | 'truncated'
    | 'reset'
    | 'gzip'
    | 'gzip-garbage'
    | 'wrong-id'
    | 'null-result'
  times: number
  /** The `Retry-After` of a refusal for haste; none unless given. */
  readonly retryAfterSeconds?: number
}

export function noFaults(): Faults {
  return {
    foreignLogs: false,
    prunedBelow: 0,
    unannounced: undefined,
    repeatedLogs: false,
    hiddenLogs: 'none',
    forgedLogs: false,
    shuffledLogs: false,
    shiftedBlocks: false,
    tags: 'right',
    callRefusal: undefined,
    headNumber: undefined,
    nullBlocks: new Set(),
    rangeMax: undefined,
    logsMax: undefined,
    timestamps: 'right',
    receipts: 'right',
    blooms: 'right',
    wireForm: 'chunked',
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
