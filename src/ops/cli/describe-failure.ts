import { redact } from '#main/logger.ts'

export interface Failure {
  readonly text: string
  /** 2: a configuration error; 1: a failure while running. */
  readonly exitCode: 1 | 2
}

const CONFIGURATION = new Set([
  'ConfigError',
  'EcosystemError',
  'ProofError',
  'RpcError',
  'AuditError',
  'SetupError',
])

const OF_LINES = new Set(['ConfigError', 'EcosystemError', 'ProofError', 'SetupError'])

/** Redacts secrets in messages. */
export function describeFailure(error: unknown): Failure {
  const { text, exitCode } = describe(error)
  const safe = redact(text)
  const hasLines = error instanceof Error && OF_LINES.has(error.name)
  return { text: hasLines ? safe : (safe.split('\n')[0] ?? ''), exitCode }
}

function describe(error: unknown): Failure {
  if (!(error instanceof Error)) return { text: String(error), exitCode: 1 }
  if (CONFIGURATION.has(error.name)) return { text: error.message, exitCode: 2 }
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return { text: `${error.message}: stop the other process, or set another PORT`, exitCode: 2 }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
    return {
      text: `${error.message}: choose another HOST or PORT, or a folder that may be written`,
      exitCode: 2,
    }
  return { text: error.message || error.name, exitCode: 1 }
}
