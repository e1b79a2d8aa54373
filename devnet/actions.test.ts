import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createPublicClient, encodeFunctionData, type Hex, http, parseAbi, zeroAddress } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import * as actions from '#devnet/actions.ts'
import { type AccountName, accounts, chainIds, namedAddresses } from '#devnet/addresses.ts'
import { sendTransaction } from '#devnet/chain-client.ts'
import { freePorts } from '#devnet/free-ports.ts'
import { startDevnet } from '#devnet/start-devnet.ts'
import { units } from '#devnet/units.ts'

const folder = await mkdtemp(join(tmpdir(), 'sexton-actions-'))
const options = { dataFolder: folder, historyDays: 2, live: false, saved: false }
const devnet = await startDevnet({ ...options, ...(await freePorts()) })
const { client } = devnet.chains.base
const chain = createPublicClient({ transport: http(client.rpcUrl) })
const { holder, payTo, poor, premium, relayer } = accounts
after(async () => {
  await devnet.stop()
  await rm(folder, { recursive: true })
})

const tokenAbi = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
])

function balance(token: 'grave' | 'crypt' | 'usdc' | 'weth', account: Hex): Promise<bigint> {
  const address = client.addresses[token]
  return chain.readContract({
    address,
    abi: tokenAbi,
    functionName: 'balanceOf',
    args: [account],
  })
}

async function mined(hash: Hex) {
  await actions.mine(client, { blocks: 1 })
  const receipt = await chain.getTransactionReceipt({ hash })
  assert.equal(receipt.status, 'success')
  return receipt
}

test('every contract is at its address on both chains', async () => {
  for (const net of Object.values(devnet.chains)) {
    const reader = createPublicClient({ transport: http(net.rpcUrl) })
    assert.equal(await reader.getChainId(), chainIds[net.client.name])
    for (const [name, address] of Object.entries(namedAddresses(net.client.addresses))) {
      assert.notEqual(await reader.getCode({ address }), undefined, name)
    }
    const expected = { grave: 'GRAVE', crypt: 'CRYPT', usdc: 'USDC', weth: 'WETH' } as const
    for (const name of ['grave', 'crypt', 'usdc', 'weth'] as const) {
      const address = net.client.addresses[name]
      const read = { address, abi: tokenAbi }
      assert.equal(await reader.readContract({ ...read, functionName: 'symbol' }), expected[name])
      const decimals = await reader.readContract({ ...read, functionName: 'decimals' })
      assert.equal(decimals, name === 'usdc' ? 6 : 18)
    }
  }
})

/** Of anvil and hardhat; BIP-44 path m/44'/60'/0'/0/index. */
const developmentMnemonic = 'test test test test test test test test test test test junk'

test('the accounts are those of the development mnemonic, with their keys', () => {
  const names = Object.keys(accounts) as AccountName[]
  for (const [addressIndex, name] of names.entries()) {
    const { address } = mnemonicToAccount(developmentMnemonic, { addressIndex })
    assert.equal(accounts[name], address)
    assert.equal(devnet.wallets[name].address, address)
    assert.equal(privateKeyToAccount(devnet.wallets[name].privateKey).address, address)
  }
})

test('holder passes the gate and is not premium, premium is, poor has only ether', async () => {
  const address = client.addresses.crypt
  const supply = await chain.readContract({ address, abi: tokenAbi, functionName: 'totalSupply' })
  assert.ok((await balance('crypt', premium)) * 1000n >= supply)
  assert.ok((await balance('crypt', holder)) * 1000n < supply)
  assert.ok((await balance('grave', holder)) >= units(5000))
  assert.equal(await balance('usdc', holder), units(1000, 6))
  assert.equal((await balance('grave', poor)) + (await balance('crypt', poor)), 0n)
  for (const account of [holder, premium, poor, relayer]) {
    assert.ok((await chain.getBalance({ address: account })) > units(1))
  }
})

test('burns to both ends move the tokens they name', async () => {
  await actions.transfer(client, { token: 'grave', to: poor, amount: units(10) })
  await actions.burn(client, { token: 'grave', from: poor, amount: units(4) })
  const buried = await actions.burnToDead(client, { token: 'grave', from: poor, amount: units(6) })
  const receipt = await mined(buried)
  assert.equal(receipt.logs.length, 1)
  assert.equal(await balance('grave', poor), 0n)
})

test('a dividend is funded, credited and claimed', async () => {
  await actions.distribute(client, { token: 'usdc', amount: units(50, 6) })
  const claim = { token: 'usdc', account: poor, amount: units(7, 6) } as const
  const receipt = await mined(await actions.claimDividend(client, claim))
  assert.equal(receipt.logs.length, 2)
  assert.equal(await balance('usdc', poor), units(7, 6))
})

test('a grave pays its digger', async () => {
  const receipt = await mined(await actions.dig(client, { digger: poor, amount: units(12) }))
  assert.equal(receipt.logs.length, 2)
  assert.equal(await balance('grave', poor), units(12))
})

test('a swap moves the price of a pair, and the feed takes a new price', async () => {
  const swap = { token: 'grave', side: 'buy', amountIn: units(5) } as const
  const receipt = await mined(await actions.swap(client, swap))
  assert.ok(receipt.logs.some((log) => log.address === gravePair().toLowerCase()))
  await mined(await actions.updateFeed(client, { answer: 3100_00000000n }))
  const [, answer] = await chain.readContract({
    address: client.addresses.ethUsdFeed,
    abi: parseAbi([
      'function latestRoundData() view returns (uint80,int256,uint256,uint256,uint80)',
    ]),
    functionName: 'latestRoundData',
  })
  assert.equal(answer, 3100_00000000n)
})

function gravePair(): Hex {
  return client.addresses.market?.gravePair ?? zeroAddress
}

test('a payment in USDC reaches the operator of the service', async () => {
  await mined(await actions.payUsdc(client, { from: holder, to: payTo, amount: 1_000_000n }))
  assert.equal(await balance('usdc', payTo), 1_000_000n)
})

const usdcAbi = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function authorizationState(address,bytes32) view returns (bool)',
])
const authorizationTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

for (const overload of ['v, r, s', 'bytes'] as const) {
  test(`USDC settles a signed EIP-3009 authorization once (${overload})`, async () => {
    const nonce = `0x${(overload === 'bytes' ? '1' : '2').repeat(64)}` as const
    const far = 2n ** 40n
    const message = { from: holder, to: payTo, value: 5n, validAfter: 0n, validBefore: far, nonce }
    const signature = await privateKeyToAccount(devnet.wallets.holder.privateKey).signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: usdc() },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const head = [holder, payTo, 5n, 0n, far, nonce] as const
    const r = signature.slice(0, 66) as Hex
    const s = `0x${signature.slice(66, 130)}` as const
    const v = Number.parseInt(signature.slice(130), 16)
    const functionName = 'transferWithAuthorization'
    const data =
      overload === 'bytes'
        ? encodeFunctionData({ abi: usdcAbi, functionName, args: [...head, signature] })
        : encodeFunctionData({ abi: usdcAbi, functionName, args: [...head, v, r, s] })
    const call = { from: relayer, to: usdc(), data }
    const receipt = await mined(await sendTransaction(client, call))
    assert.equal(receipt.logs.length, 2)
    const again = await sendTransaction(client, call)
    await actions.mine(client, { blocks: 1 })
    assert.equal((await chain.getTransactionReceipt({ hash: again })).status, 'reverted')
    const used = { address: usdc(), abi: usdcAbi, functionName: 'authorizationState' } as const
    assert.equal(await chain.readContract({ ...used, args: [holder, nonce] }), true)
  })
}

function usdc(): Hex {
  return client.addresses.usdc
}
