import { RpcError } from '../rpc-error.ts'
import { EndpointError } from './endpoint-error.ts'

export interface RetryPlan {
  readonly isSize: boolean
  readonly isSmaller: boolean
  readonly isElsewhere: boolean
  readonly waits: boolean
}

const SMALLER: RetryPlan = { isSize: true, isSmaller: true, isElsewhere: false, waits: false }
const LATER: RetryPlan = { isSize: false, isSmaller: false, isElsewhere: false, waits: true }
const ELSEWHERE: RetryPlan = { isSize: false, isSmaller: false, isElsewhere: true, waits: false }

export function retryPlanFor(error: unknown): RetryPlan {
  if (!(error instanceof EndpointError)) {
    const tooLarge = error instanceof RpcError && error.tooLarge
    return { isSize: tooLarge, isSmaller: true, isElsewhere: !tooLarge, waits: false }
  }
  switch (error.kind) {
    case 'too-large':
    case 'timeout':
    // Most likely the size.
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
