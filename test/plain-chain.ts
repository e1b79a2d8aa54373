import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import { startAnvil } from '#devnet/anvil.ts'
import { openRpc } from '#devnet/rpc.ts'

export interface PlainChain {
  readonly url: string
  stop(): Promise<void>
}

/** An empty chain of anvil that no table knows. Each transaction makes a block. */
export async function startPlainChain(genesisUnix: number): Promise<PlainChain> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-plain-'))
  const port = await freePort()
  const anvil = await startAnvil({ port, chainId: 31_337, genesisUnix, cacheFolder: folder })
  const rpc = openRpc(anvil.url)
  await rpc.send({ method: 'evm_setAutomine', params: [true] })
  return {
    url: anvil.url,
    async stop() {
      rpc.close()
      await anvil.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
