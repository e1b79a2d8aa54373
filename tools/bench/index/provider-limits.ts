/** Whose words a refusal is in. */
export const DIALECTS = ['alchemy', 'infura', 'quicknode', 'generic'] as const
export type Dialect = (typeof DIALECTS)[number]

/** What a provider allows one `eth_getLogs` to be. */
export interface ProviderLimits {
  readonly dialect: Dialect
  readonly blocksMax: number | undefined
  readonly logsMax: number | undefined
  readonly bytesMax: number
}

export interface AskedLogs {
  readonly from: number
  readonly to: number
  readonly logs: number
  readonly bytes: number
}

export interface RpcRefusal {
  readonly code: number
  readonly message: string
}

/** The refusal of a question that is too large, or undefined when it may be answered. */
export function refusalOf(limits: ProviderLimits, asked: AskedLogs): RpcRefusal | undefined {
  const { dialect, blocksMax, logsMax } = limits
  const tooWide = blocksMax !== undefined && asked.to - asked.from + 1 > blocksMax
  const tooMany = logsMax !== undefined && asked.logs > logsMax
  if (asked.bytes > limits.bytesMax)
    return { code: -32_008, message: 'Response is too big: exceeds the maximum response size' }
  // Alchemy answers any range with few logs, and any number of logs in a small range.
  const isAlchemy = dialect === 'alchemy' && blocksMax !== undefined && logsMax !== undefined
  if (isAlchemy ? !(tooWide && tooMany) : !(tooWide || tooMany)) return undefined
  return inWordsOf(limits, asked)
}

function inWordsOf({ dialect, blocksMax, logsMax }: ProviderLimits, asked: AskedLogs): RpcRefusal {
  const fitting = `0x${(asked.from + Math.max(0, (blocksMax ?? 1_000) - 1)).toString(16)}`
  const range = `[0x${asked.from.toString(16)}, ${fitting}]`
  switch (dialect) {
    case 'alchemy':
      return {
        code: -32_602,
        message: `Log response size exceeded. You can make eth_getLogs requests with up to a ${blocksMax ?? 2_000} block range and no limit on the response size, or you can request any block range with a cap of ${logsMax ?? 10_000} logs in the response. Based on your parameters and the response size limit, this block range should work: ${range}`,
      }
    case 'infura':
      return {
        code: -32_005,
        message: `query returned more than ${logsMax ?? 10_000} results. Try with this block range ${range}.`,
      }
    case 'quicknode':
      return { code: -32_614, message: `eth_getLogs is limited to a ${blocksMax ?? 10_000} range` }
    case 'generic':
      return { code: -32_000, message: `exceed maximum block range: ${blocksMax ?? 10_000}` }
  }
}

/** Lets so many requests through in each second; the rest are told to come back. */
export class RequestRate {
  readonly #perSecond: number
  #second = 0
  #used = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  admits(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) this.#used = 0
    this.#second = second
    this.#used += 1
    return this.#used <= this.#perSecond
  }
}
