import { RpcError } from '../rpc-error.ts'
import { EndpointError } from './endpoint-error.ts'

/** What is to be done about a range that came to nothing. */
export interface Cure {
  /** It says something about which size fits. */
  readonly isSize: boolean
  /** It is asked for in parts. */
  readonly isSmaller: boolean
  /** Another endpoint is better asked. */
  readonly isElsewhere: boolean
  /** Time alone may mend it. */
  readonly waits: boolean
}

const SMALLER: Cure = { isSize: true, isSmaller: true, isElsewhere: false, waits: false }
const LATER: Cure = { isSize: false, isSmaller: false, isElsewhere: false, waits: true }
const ELSEWHERE: Cure = { isSize: false, isSmaller: false, isElsewhere: true, waits: false }

/** How a failed range is asked for again. */
export function cureFor(error: unknown): Cure {
  if (!(error instanceof EndpointError)) {
    const tooLarge = error instanceof RpcError && error.tooLarge
    return { isSize: tooLarge, isSmaller: true, isElsewhere: !tooLarge, waits: false }
  }
  switch (error.kind) {
    case 'too-large':
    case 'timeout':
    // A text that nobody has seen yet is most likely a refusal of the size.
    case 'refused':
    case 'reverted':
    case 'no-method':
      return SMALLER
    case 'cut-off':
      return { ...SMALLER, isElsewhere: true }
    case 'too-fast':
    case 'aborted':
      return LATER
    case 'pruned':
    case 'unproven':
      return ELSEWHERE
    case 'behind':
    case 'unreachable':
    case 'malformed':
      return { ...ELSEWHERE, waits: true }
  }
}
