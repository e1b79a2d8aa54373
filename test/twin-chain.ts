import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startAnvil } from '#devnet/anvil.ts'
import { type ChainClient, openChainClient, readHead } from '#devnet/chain-client.ts'
import { freePorts } from '#devnet/free-ports.ts'
import { saveState, unpackState } from '#devnet/saved-state.ts'

/** A second node of a chain, with the same blocks up to now and a future of its own. */
export interface TwinChain {
  readonly client: ChainClient
  stop(): Promise<void>
}

/** Starts a second anvil from all that the first one has. */
export async function startTwin(chain: ChainClient, folder: string): Promise<TwinChain> {
  mkdirSync(folder, { recursive: true })
  const [file, target] = [join(folder, 'twin.json.gz'), join(folder, 'twin.json')]
  await saveState(chain, { file, withStates: true })
  await unpackState({ file, target })
  const { base: port } = (await freePorts()).ports
  const cacheFolder = join(folder, 'twin-cache')
  const { chainId, name, addresses } = chain
  const genesisUnix = await genesisOf(chain)
  const anvil = await startAnvil({ port, chainId, genesisUnix, cacheFolder, stateFile: target })
  const client = openChainClient({ name, chainId, addresses, rpcUrl: anvil.url })
  // Its clock begins with the first block; without this, time would go backwards.
  const { timestampUnix } = await readHead(chain)
  await client.rpc.send({ method: 'evm_setTime', params: [timestampUnix] })
  return {
    client,
    async stop() {
      client.rpc.close()
      await anvil.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** anvil makes its first block before it loads the saved ones, so it must be of the same time. */
async function genesisOf(chain: ChainClient): Promise<number> {
  const block = await chain.rpc.send({ method: 'eth_getBlockByNumber', params: ['0x0', false] })
  if (typeof block !== 'object' || block === null || !('timestamp' in block))
    throw new Error(`${chain.name} has no first block`)
  return Number(block.timestamp)
}
