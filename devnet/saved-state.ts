import { existsSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { ChainClient } from '#devnet/chain-client.ts'

/**
 * Atomic; anvil's gzipped JSON. With recent states it is several times larger, and the chain can be
 * reorganised and read below its head after loading.
 */
export async function saveState(
  chain: ChainClient,
  input: { readonly file: string; readonly withStates: boolean },
): Promise<void> {
  const dump = await chain.rpc.send({ method: 'anvil_dumpState', params: [input.withStates] })
  if (typeof dump !== 'string') throw new TypeError('the node dumps no text')
  const draft = `${input.file}.draft`
  const handle = await open(draft, 'w')
  try {
    await handle.writeFile(Buffer.from(dump.slice(2), 'hex'))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, input.file)
}

/** False if there is none; throws if damaged (gzip has a checksum, RFC 1952). */
export async function unpackState(input: {
  readonly file: string
  readonly target: string
}): Promise<boolean> {
  if (!existsSync(input.file)) return false
  await writeFile(input.target, await unzip(await readFile(input.file)))
  return true
}

const unzip = promisify(gunzip)
