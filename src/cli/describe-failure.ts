import { redact } from '#main/logger.ts'

/** What a person reads when a command fails: one line, and the exit code. */
export interface Failure {
  readonly line: string
  /** 2: something is configured wrongly; 1: it failed at work. */
  readonly exitCode: 1 | 2
}

/** Errors by name whose message already says what is wrong and where. */
const CONFIGURATION = new Set([
  'SettingsError',
  'EcosystemError',
  'ProofError',
  'RpcError',
  'AuditError',
])

/** Puts an error into one line without secrets. */
export function describeFailure(error: unknown): Failure {
  const failure = describe(error)
  return { ...failure, line: redact(failure.line).split('\n')[0] ?? '' }
}

function describe(error: unknown): Failure {
  if (!(error instanceof Error)) return { line: String(error), exitCode: 1 }
  if (CONFIGURATION.has(error.name)) return { line: error.message, exitCode: 2 }
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return { line: `${error.message}: stop the other process, or set PORT`, exitCode: 2 }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
    return { line: `${error.message}: choose another HOST, PORT or SEXTON_DATA`, exitCode: 2 }
  return { line: error.message || error.name, exitCode: 1 }
}
