import type { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import type { Settings } from './settings.ts'

/**
 * Opens the log: JSON lines for machines, readable lines for a terminal. Secrets are cut out of the
 * bytes that leave, so that no field, message or stack trace can carry one.
 */
export async function openLogger(settings: Settings['log'], output: Writable): Promise<Logger> {
  const { level, format } = settings
  const show = format === 'pretty' ? await loadPretty() : (line: string) => line
  const redacting = {
    write(line: string) {
      output.write(redact(show(line)))
    },
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting)
}

/** Loaded where somebody looks only: machines read the lines as they are. */
async function loadPretty(): Promise<(line: string) => string> {
  // CommonJS: its names are known to Node, and to a bundle only below `default`.
  const { default: pretty } = await import('pino-pretty')
  return pretty.prettyFactory({ colorize: true, translateTime: 'HH:MM:ss' })
}

/**
 * An API key of any prefix, with its public part as the first group. No word boundaries: the colour
 * codes of a terminal end in a letter.
 */
const API_KEY = /([a-z][a-z0-9]{1,11}_[0-9a-f]{8})_[0-9a-f]{32,}/gi

/** The password in the URL of a database or of an RPC endpoint. */
const URL_PASSWORD = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*:)[^\s/@"]+@/gi

/** The same for database URLs, whose password may contain spaces and punctuation. */
const DATABASE_PASSWORD = /(postgres(?:ql)?:\/\/[^:/@"\n]*:)[^/"\n]+@/gi

/** Takes secrets out of a text; public ids stay, because support needs them. */
export function redact(text: string): string {
  return text
    .replace(API_KEY, '$1_[redacted]')
    .replace(DATABASE_PASSWORD, '$1[redacted]@')
    .replace(URL_PASSWORD, '$1[redacted]@')
}
