import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, ConfigError } from '#config.ts'
import { registerName } from '#data/datasets.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'

/**
 * Allows one `start` per folder of embedded stores or local chains, and one process that writes a `register` there.
 * Uses a socket, which the system releases however the process dies. Throws ConfigError if taken.
 */
export async function lockFolder(folder: string, register = ''): Promise<() => void> {
  mkdirSync(folder, { recursive: true })
  const place = join(realpathSync(folder), register)
  const name = createHash('sha256').update(place).digest('hex').slice(0, 16)
  // Socket paths are limited to about 100 bytes.
  const path = join(tmpdir(), `sexton-${name}.sock`)
  if (await answers(path))
    throw new ConfigError(
      register === ''
        ? `SEXTON_DATA: another "sexton start" uses the folder ${folder}; stop it, or choose another folder`
        : `SEXTON_DATA: another process serves or builds ${register} of ${folder}`,
    )
  rmSync(path, { force: true })
  const server = createServer()
  server.listen(path)
  await once(server, 'listening')
  server.unref()
  return () => void server.close()
}

/** Locks embedded stores only: on PostgreSQL the leader's lock does this. */
export async function lockRegister(
  { dataFolder, database }: Pick<Config, 'dataFolder' | 'database'>,
  ecosystem: Ecosystem,
): Promise<() => void> {
  if (database.kind === 'postgres') return () => undefined
  return lockFolder(dataFolder, registerName(ecosystem))
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
