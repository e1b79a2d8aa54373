import {
  type Address,
  concatHex,
  encodeAbiParameters,
  type Hex,
  parseAbiParameters,
  toHex,
} from 'viem'
import { readArtifact } from '#contracts/artifact.ts'
import { accounts } from '#devnet/addresses.ts'
import { type Call, calls } from '#devnet/calls.ts'
import { type ChainClient, expectHex } from '#devnet/chain-client.ts'
import { traders } from '#devnet/people.ts'
import type { RpcCall } from '#devnet/rpc.ts'
import { units } from '#devnet/units.ts'

/** Whole tokens minted on the first day. */
export const supplies = {
  base: { grave: 700_000_000, crypt: 7_000_000 },
  ethereum: { grave: 300_000_000, crypt: 3_000_000 },
  arbitrum: { grave: 100_000_000, crypt: 1_000_000 },
} as const

/** Writes USDC, wrapped ether and ether balances into the genesis state. */
export async function prepareGenesis(chain: ChainClient): Promise<void> {
  const usdc = await runtimeCode(chain, creationOf('UsdCoin'))
  const weth = await runtimeCode(chain, creationOf('WrappedEther'))
  const wealthy = [accounts.operator, ...traders]
  await chain.rpc.sendBatch([
    { method: 'anvil_setCode', params: [chain.addresses.usdc, usdc] },
    { method: 'anvil_setCode', params: [chain.addresses.weth, weth] },
    ...wealthy.map((account) => giveEther(account)),
  ])
}

export function creationCalls(chain: ChainClient): readonly Call[] {
  const { grave, usdc } = chain.addresses
  const supply = supplies[chain.name]
  const create = (data: Hex): Call => ({ from: accounts.operator, data })
  return [
    create(tokenCreation('Gravestone', 'GRAVE', supply.grave)),
    create(tokenCreation('Crypt', 'CRYPT', supply.crypt)),
    create(creationOf('DividendDistributor')),
    create(creationOf('Graveyard', 'address', [grave])),
    create(creationOf('PriceFeed', 'string', ['ETH / USD'])),
    ...(chain.addresses.market === undefined ? [] : marketCreations().map(create)),
    calls.initialize({ token: usdc, from: accounts.operator, minter: accounts.operator }),
  ]
}

export function fundingCalls(chain: ChainClient): readonly Call[] {
  const { grave, crypt, usdc, weth, distributor, market } = chain.addresses
  const from = accounts.operator
  const spend = [usdc, weth, grave].map((token) =>
    calls.approveAll({ token, from, spender: distributor }),
  )
  const pairs =
    market === undefined
      ? []
      : [grave, crypt].map((token) =>
          calls.createPair({ factory: market.factory, from, tokens: [token, weth] }),
        )
  return [
    ...pairs,
    calls.mint({ token: usdc, from, to: from, amount: units(50_000_000, 6) }),
    calls.mint({ token: usdc, from, to: accounts.holder, amount: units(1000, 6) }),
    calls.wrap({ weth, from, amount: units(100_000) }),
    ...spend,
    ...(market === undefined ? [] : traders.flatMap((trader) => traderCalls(chain, trader))),
  ]
}

export const traderWeth = 300

function traderCalls(chain: ChainClient, from: Address): readonly Call[] {
  const { grave, crypt, weth, market } = chain.addresses
  if (market === undefined) return []
  const leave = [grave, crypt, weth].map((token) =>
    calls.approveAll({ token, from, spender: market.router }),
  )
  return [calls.wrap({ weth, from, amount: units(traderWeth) }), ...leave]
}

function marketCreations(): readonly Hex[] {
  const factory = creationOf('UniswapV2Factory', 'address', [accounts.operator])
  return [factory, creationOf('PairRouter')]
}

function tokenCreation(name: string, symbol: string, supply: number): Hex {
  const values = [name, symbol, accounts.operator, units(supply)]
  return creationOf('EcosystemToken', 'string,string,address,uint256', values)
}

function creationOf(contractName: string, types?: string, values: readonly unknown[] = []): Hex {
  const { bytecode } = readArtifact(contractName)
  if (types === undefined) return bytecode
  return concatHex([bytecode, encodeAbiParameters(parseAbiParameters(types), values)])
}

// A call without a receiver returns the runtime code with immutables filled in. USDC rebuilds its
// domain separator at any address.
async function runtimeCode(chain: ChainClient, creation: Hex): Promise<Hex> {
  const question = { from: accounts.operator, data: creation }
  return expectHex(await chain.rpc.send({ method: 'eth_call', params: [question, 'latest'] }))
}

function giveEther(account: Address): RpcCall {
  return { method: 'anvil_setBalance', params: [account, toHex(units(1_000_000))] }
}
