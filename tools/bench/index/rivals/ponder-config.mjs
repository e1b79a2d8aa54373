import { createConfig } from 'ponder'
import { parseAbi } from 'viem'

const { url, addresses, isOld, urlsListed } = JSON.parse(process.env.BENCH_CHAIN)

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
])
const eventAbi = (name) => abi.filter((each) => each.name === name)

/**
 * The older line is paced by `maxRequestsPerSecond`; the newer paces each URL by itself, so the
 * same URL many times is the fastest that can be configured.
 */
const chains = isOld
  ? {
      networks: {
        base: { chainId: 8453, transport: await http(), maxRequestsPerSecond: 1_000_000 },
      },
    }
  : { chains: { base: { id: 8453, rpc: Array.from({ length: urlsListed }, () => url) } } }

async function http() {
  const viem = await import('viem')
  return viem.http(url)
}

const where = isOld ? { network: 'base' } : { chain: 'base' }

export default createConfig({
  ...chains,
  contracts: {
    Token: { ...where, abi: eventAbi('Transfer'), address: addresses.tokens, startBlock: 0 },
    Distributor: {
      ...where,
      abi: eventAbi('DividendClaimed'),
      address: addresses.distributor,
      startBlock: 0,
    },
    Graveyard: { ...where, abi: eventAbi('GraveDug'), address: addresses.graveyard, startBlock: 0 },
  },
})
