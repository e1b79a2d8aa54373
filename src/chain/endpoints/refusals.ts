import type { FailureKind } from '../rpc-error.ts'

export interface RefusalWords {
  readonly method: string
  readonly message: string
  readonly code?: number | undefined
  readonly status: number
  readonly blocksAsked?: number | undefined
}

export interface KnownRefusal {
  readonly kind: FailureKind
  readonly blocksMax?: number
  readonly blocksThatFit?: number
  readonly addressesMax?: number
}

const METHOD_NOT_FOUND = -32_601
/** EIP-4444: dropped history. */
const PRUNED_HISTORY = 4444
/** EIP-1474 and geth. */
const REVERTED = 3

/** A wrong key, an unpaid account or a wrong path. */
const NO_ACCESS = [401, 402, 403, 404]

/** Smaller ranges would only add requests. */
const TOO_FAST =
  /too many requests|concurrent requests|rate.?limit|\brate\b|(per|\/) ?(sec(ond)?|min(ute)?|hour|day)\b|\b(rps|qps)\b|compute units|throughput|throttl|requests? (count|limit|quota)|usage limit|monthly capacity|quota|too much load/i

const BEHIND = /beyond (the )?current head|after last accepted block|header not found/i

const TOO_LARGE =
  /range|too many|too large|too big|too wide|exceed|limit(ed)? to|limit the query|more than [\d,]+ (results|logs)|response size|query returned|query must be smaller|max(imum)? (allowed )?(number of )?(requested blocks|logs|results)|timeout|timed out|took too long/i

/** Limits the content, not the range. */
const RESULT_CAP =
  /results|response (size|is too|too)|response body|logs? (in|per) |number of logs|max logs|too many logs|payload (size|is too|too)/i

const NO_SUCH_METHOD =
  /method.*(not (found|exist|support|available|allowed)|unsupported)|unsupported method/i

const PRUNED =
  /\bprun|missing trie node|histor(y|ical).*(not |un)available|state .*not available|archive|required historical/i

const REVERT = /\brevert|out of gas|invalid ?(fe)? ?(opcode|jump)|stack ?underflow/i

/** Limits on addresses or bytes look alike. */
const ABOUT_BLOCKS = /range|blocks?\b|smaller than size/i

const BLOCK_CAPS: readonly RegExp[] = [
  /(\d[\d,_]*)\s?(k)?[\s-]*blocks?\b/gi,
  /block range[^\d[]{0,60}(\d[\d,_]*)(k\b)?/gi,
  /(?:limit|max(?:imum)?)[^\d[]{0,45}(\d[\d,_]*)\s?(k\b)?/gi,
  /maxAllowedRange\W{0,4}(\d+)()/g,
  /blocks? distance:? (\d[\d,_]*)(k\b)?/gi,
  /\(\d+ > (\d+)()\)/g,
  /smaller than size (\d[\d,_]*)(k\b)?/gi,
]

/** What a plan has, before what a larger one would have. */
const OWN_CAP = /limited to (?:an? )?(\d[\d,_]*)\s?(k)?[\s-]*(?:blocks? )?range/i
/** The span that is refused. */
const TOO_LARGE_SPAN = /too large \(\d[\d,_]*\)/gi

/** Advice to name an address is no cap. */
const ADDRESS_CAP =
  /(too many|max(imum)?|number|limit(ed)?|at most|up to|(less|fewer|more) than)( (of|to))?( \d+)?( \w+)? address(es)?\b|\baddress(es)?\b[^.]{0,20}(exceed|max|limit)/i
const ADDRESS_COUNT = /(\d+)\D{0,20}\baddress|\baddress\D{0,40}?(\d+)/i

/** Durations, sizes and counts of anything else. */
const NOT_BLOCKS =
  /\d[\d,_.]*\s?k?[\s-]*(?:m?s|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|h|days?|weeks?|[kmgt]i?b|(?:kilo|mega|giga)?bytes?|logs?|events?|results?|entries|items|records|rows|receipts?|transactions?|addresses|topics?|param(?:eter)?s?|requests?|calls?|queries|credits|units?)\b/gi

/** An inverted range (ethereum/execution-apis); halving cannot help. */
const INVERTED = /invalid block range/i

/**
 * Texts often repeat the refused span, sometimes off by one; a cap must be smaller by this factor.
 */
const NARROWER = 0.9

const SUGGESTED = [
  /\[\s*(0x[0-9a-f]+|\d+)\s*,\s*(0x[0-9a-f]+|\d+)\s*\]/i,
  /with the range (\d+)\s*-\s*(\d+)/i,
]

export function readRefusal(words: RefusalWords): KnownRefusal {
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

function readLogsRefusal(words: RefusalWords): KnownRefusal {
  const { message, code, status, blocksAsked } = words
  const blocksThatFit = suggestion(message, blocksAsked)
  const blocksMax = RESULT_CAP.test(message) ? undefined : blockCap(message, blocksAsked)
  const isAboutAddresses = ADDRESS_CAP.test(message) && !RESULT_CAP.test(message)
  if (blocksThatFit === undefined && blocksMax === undefined && isAboutAddresses) {
    const [, before, after] = ADDRESS_COUNT.exec(message) ?? []
    return { kind: 'too-large', addressesMax: Number(before ?? after ?? Number.POSITIVE_INFINITY) }
  }
  const limits = {
    ...(blocksThatFit === undefined ? {} : { blocksThatFit }),
    ...(blocksMax === undefined ? {} : { blocksMax }),
  }
  if (blocksThatFit !== undefined) return { kind: 'too-large', ...limits }
  if (TOO_FAST.test(message)) return { kind: 'too-fast' }
  if (blocksAsked !== undefined && BEHIND.test(message)) return { kind: 'behind' }
  if (code === PRUNED_HISTORY || PRUNED.test(message)) return { kind: 'pruned' }
  const isTooLarge = TOO_LARGE.test(message.replace(INVERTED, ''))
  if (status === 413 || blocksMax !== undefined || isTooLarge)
    return { kind: 'too-large', ...limits }
  if (status === 408 || status === 504 || status === 524) return { kind: 'timeout' }
  return { kind: status >= 500 ? 'unreachable' : 'refused' }
}

/** Some nodes suggest the refused range. */
function suggestion(message: string, blocksAsked: number | undefined): number | undefined {
  const match = SUGGESTED.map((pattern) => pattern.exec(message)).find((each) => each !== null)
  const blocks = Number(match?.[2]) - Number(match?.[1]) + 1
  return isNarrower(blocks, blocksAsked) ? blocks : undefined
}

/** Other numbers are smaller limits or the refused span. */
function blockCap(message: string, blocksAsked: number | undefined): number | undefined {
  if (!ABOUT_BLOCKS.test(message)) return undefined
  // No pattern looks past a bracket, so none joins the words around what was removed.
  const text = message.replace(TOO_LARGE_SPAN, '[').replace(NOT_BLOCKS, '[')
  const own = OWN_CAP.exec(text)
  const found = own ? [own] : BLOCK_CAPS.flatMap((pattern) => [...text.matchAll(pattern)])
  const caps = found
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
