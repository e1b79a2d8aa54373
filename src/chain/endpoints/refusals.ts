import type { FailureKind } from './endpoint-error.ts'

/** What a node said instead of an answer. */
export interface RefusalWords {
  readonly method: string
  readonly message: string
  /** JSON-RPC error code, if any. */
  readonly code?: number | undefined
  /** HTTP status. */
  readonly status: number
  /** How many blocks were asked for, where a range was. */
  readonly blocksAsked?: number | undefined
}

export interface Refusal {
  readonly kind: FailureKind
  /** The most blocks per range that the endpoint allows, whatever they hold. */
  readonly blocksMax?: number
  /** How many blocks would fit this time. */
  readonly blocksThatFit?: number
}

/** JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32_601
/** execution-apis: history that was dropped (EIP-4444). */
const PRUNED_HISTORY = 4444
/** EIP-1474 and geth: execution reverted. */
const REVERTED = 3

/** A wrong or expired key, an unpaid account, a path without a node: nothing will be answered. */
const NO_ACCESS = [401, 402, 403, 404]

/** Refusals that mean "ask more slowly": a smaller range would only make more requests. */
const TOO_FAST =
  /too many requests|concurrent requests|rate.?limit|\brate\b|(per|\/) ?(sec(ond)?|min(ute)?|hour|day)\b|\b(rps|qps)\b|compute units|throughput|throttl|requests? (count|limit|quota)|usage limit|monthly capacity|quota|too much load/i

/** The range ends above the answering node's newest block. */
const BEHIND = /beyond (the )?current head|after last accepted block|header not found/i

/** Refusals that mean "ask for less", as the large providers word them. */
const TOO_LARGE =
  /range|too many|too large|too big|too wide|exceed|limit(ed)? to|limit the query|more than [\d,]+ (results|logs)|response size|query returned|query must be smaller|max(imum)? (allowed )?(number of )?(requested blocks|logs|results)|timeout|timed out|took too long/i

/** A cap of what an answer holds: a wider range is welcome where there is less in it. */
const RESULT_CAP =
  /results|response (size|is too|too)|response body|logs? (in|per) |number of logs|max logs|too many logs|payload (size|is too|too)/i

/** How nodes word it that do not use the code. */
const NO_SUCH_METHOD =
  /method.*(not (found|exist|support|available|allowed)|unsupported)|unsupported method/i

const PRUNED =
  /\bprun|missing trie node|histor(y|ical).*(not |un)available|state .*not available|archive|required historical/i

const REVERT = /\brevert|out of gas|invalid opcode/i

/** Only texts about blocks are read for a cap: limits on addresses, topics or bytes look alike. */
const ABOUT_BLOCKS = /range|blocks?\b|smaller than size/i

/** Caps of blocks per range: the first number in each is the cap. */
const BLOCK_CAPS: readonly RegExp[] = [
  /(\d[\d,_]*)\s?(k)?[\s-]*blocks?\b/gi,
  /block range[^\d[]{0,60}(\d[\d,_]*)(k\b)?/gi,
  /(?:limit|max(?:imum)?)[^\d[]{0,45}(\d[\d,_]*)\s?(k\b)?/gi,
  /maxAllowedRange\W{0,4}(\d+)()/g,
  /blocks? distance:? (\d[\d,_]*)(k\b)?/gi,
  /\(\d+ > (\d+)()\)/g,
  /smaller than size (\d[\d,_]*)(k\b)?/gi,
]

/**
 * Texts often repeat the refused span, sometimes off by one; taken as a cap, it would shrink the range
 * by one block per request. A cap must shrink the range by at least this factor.
 */
const NARROWER = 0.9

const SUGGESTED = [
  /\[\s*(0x[0-9a-f]+|\d+)\s*,\s*(0x[0-9a-f]+|\d+)\s*\]/i,
  /with the range (\d+)\s*-\s*(\d+)/i,
]

/** Reads a refusal: the dialects of the large providers and nodes, by code, status and words. */
export function readRefusal(words: RefusalWords): Refusal {
  const { method, message, code, status } = words
  if (status === 429) return { kind: 'too-fast' }
  if (NO_ACCESS.includes(status)) return { kind: 'unreachable' }
  if (code === METHOD_NOT_FOUND || NO_SUCH_METHOD.test(message)) return { kind: 'no-method' }
  if (method === 'eth_getLogs') return readLogsRefusal(words)
  if (method === 'eth_call' && (code === REVERTED || REVERT.test(message)))
    return { kind: 'reverted' }
  if (TOO_FAST.test(message)) return { kind: 'too-fast' }
  if (code === PRUNED_HISTORY || PRUNED.test(message)) return { kind: 'pruned' }
  return { kind: status >= 500 ? 'unreachable' : 'refused' }
}

function readLogsRefusal(words: RefusalWords): Refusal {
  const { message, code, status, blocksAsked } = words
  const blocksThatFit = suggestion(message, blocksAsked)
  const blocksMax = RESULT_CAP.test(message) ? undefined : blockCap(message, blocksAsked)
  const told = {
    ...(blocksThatFit === undefined ? {} : { blocksThatFit }),
    ...(blocksMax === undefined ? {} : { blocksMax }),
  }
  // A text that names a range that fits is about the range, whatever other words it has.
  if (blocksThatFit !== undefined) return { kind: 'too-large', ...told }
  if (TOO_FAST.test(message)) return { kind: 'too-fast' }
  if (blocksAsked !== undefined && BEHIND.test(message)) return { kind: 'behind' }
  if (code === PRUNED_HISTORY || PRUNED.test(message)) return { kind: 'pruned' }
  if (status === 413 || blocksMax !== undefined || TOO_LARGE.test(message))
    return { kind: 'too-large', ...told }
  if (status === 408 || status === 504 || status === 524) return { kind: 'timeout' }
  return { kind: status >= 500 ? 'unreachable' : 'refused' }
}

/** Nodes have been seen to suggest the range that they had just refused: only a narrower one counts. */
function suggestion(message: string, blocksAsked: number | undefined): number | undefined {
  const match = SUGGESTED.map((pattern) => pattern.exec(message)).find((each) => each !== null)
  const blocks = Number(match?.[2]) - Number(match?.[1]) + 1
  return isNarrower(blocks, blocksAsked) ? blocks : undefined
}

/** The largest plausible cap; other numbers in the text are smaller ones or the refused span. */
function blockCap(message: string, blocksAsked: number | undefined): number | undefined {
  if (!ABOUT_BLOCKS.test(message)) return undefined
  const caps = BLOCK_CAPS.flatMap((pattern) => [...message.matchAll(pattern)])
    .map(([, digits, thousands]) => {
      const number = Number((digits ?? '').replace(/[,_]/g, ''))
      return thousands ? number * 1000 : number
    })
    .filter((blocks) => isNarrower(blocks, blocksAsked))
  return caps.length === 0 ? undefined : Math.max(...caps)
}

function isNarrower(blocks: number, than: number | undefined): boolean {
  if (!Number.isSafeInteger(blocks) || blocks <= 0 || than === undefined) return false
  return blocks <= than * NARROWER
}
