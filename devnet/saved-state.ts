import { existsSync } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type ChainClient, expectHex } from '#devnet/chain-client.ts'

/**
 * Saves a chain to a file, whole or not at all (anvil's own format: gzipped JSON).
 * With its newest states it is several times larger, and the chain can be reorganised and read
 * below its head after loading; without them only above.
 */
export async function saveState(
  chain: ChainClient,
  input: { readonly file: string; readonly withStates: boolean },
): Promise<void> {
  const dump = expectHex(
    await chain.rpc.send({ method: 'anvil_dumpState', params: [input.withStates] }),
  )
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

/**
 * Unpacks a saved chain to a plain file that anvil loads. Says whether there is one; throws when
 * it is damaged (gzip carries a checksum, RFC 1952).
 */
export async function unpackState(input: {
  readonly file: string
  readonly target: string
}): Promise<boolean> {
  if (!existsSync(input.file)) return false
  await writeFile(input.target, await unzip(await readFile(input.file)))
  return true
}

const unzip = promisify(gunzip)
