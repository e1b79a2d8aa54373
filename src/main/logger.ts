import type { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from '#config.ts'

/** Redacts the output bytes, so that no field, message or stack trace leaks a secret. */
export function openLogger(config: Config['log'], output: Writable): Logger {
  const { level, format } = config
  const show =
    format === 'pretty'
      ? pretty.prettyFactory({ colorize: true, translateTime: 'HH:MM:ss' })
      : (line: string) => line
  const redacting = {
    write(line: string) {
      output.write(redact(show(line)))
    },
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting)
}

/** Group 1 is the public part. Uses no word boundaries, because colour codes end in a letter. */
const API_KEY = /([a-z][a-z0-9]{1,11}_[0-9a-f]{8})_[0-9a-f]{32,}/gi

const URL_PASSWORD = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*:)[^\s/@"]+@/gi

/** Passwords may contain spaces and punctuation. */
const DATABASE_PASSWORD = /(postgres(?:ql)?:\/\/[^:/@"\n]*:)[^/"\n]+@/gi

/** Keeps public ids, which support needs. */
export function redact(text: string): string {
  return text
    .replace(API_KEY, '$1_[redacted]')
    .replace(DATABASE_PASSWORD, '$1[redacted]@')
    .replace(URL_PASSWORD, '$1[redacted]@')
}
