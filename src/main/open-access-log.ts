import { once } from 'node:events'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Logger, pino } from 'pino'
import type { Clock } from '#lib/time.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-error.ts'

export interface AccessLogOutput {
  write(line: string): void
  close(): Promise<void>
}

/** A line reaches the disk at most this late; a killed process loses as much. */
const FLUSH_MS = 1_000
const BUFFERED_BYTES = 8_192

/** Lines beyond it are dropped: a full disk must not fill the memory. */
const BUFFERED_BYTES_MAX = 16 * 1_048_576

const WARN_EVERY_MS = 60_000

/** Appends, so that the file can be rotated by copying and truncating it. */
export async function openAccessLog(
  { logger, clock }: { readonly logger: Pick<Logger, 'warn'>; readonly clock: Clock },
  { file }: NonNullable<Settings['accessLog']>,
): Promise<AccessLogOutput> {
  const { stdout } = process
  if (file === undefined)
    return { write: (line) => void stdout.write(line), close: async () => undefined }
  await checkWritable(file)
  const destination = pino.destination({
    dest: file,
    append: true,
    sync: false,
    minLength: BUFFERED_BYTES,
    maxLength: BUFFERED_BYTES_MAX,
    periodicFlush: FLUSH_MS,
  })
  await once(destination, 'ready')
  let warnedAtMs = Number.NEGATIVE_INFINITY
  const warn = (problem: string) => {
    if (Math.abs(clock() - warnedAtMs) < WARN_EVERY_MS) return
    warnedAtMs = clock()
    logger.warn({ file, problem }, 'lines of the access log are lost')
  }
  destination.on('error', (error: Error) => warn(error.message))
  destination.on('drop', () => warn('it cannot be written fast enough'))
  return {
    write: (line) => void destination.write(line),
    async close() {
      destination.end()
      await once(destination, 'close').catch(() => undefined)
    },
  }
}

/** The destination itself would fail only at its exit. */
async function checkWritable(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await (await open(file, 'a', 0o640)).close()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new SettingsError(`SEXTON_ACCESS_LOG: cannot write to "${file}": ${reason}`, { cause })
  }
}
