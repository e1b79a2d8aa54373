import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'

/** The ecosystem on the local chains; a template for a real one. */

const ZERO = '0x0000000000000000000000000000000000000000'
const DEAD = '0x000000000000000000000000000000000000dEaD'

const GRAVE = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const CRYPT = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'
const DISTRIBUTOR = '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0'
const GRAVEYARD = '0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9'
const TREASURY = '0x976EA74026E726554dB657fA54763abd0C3a0aa9'

const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value)'

const chains = ['base', 'ethereum', 'arbitrum'] as const

const localEcosystem = {
  service: {
    name: 'Sexton',
    keyPrefix: 'svc',
    publicBaseUrl: 'http://localhost:4020',
  },
  chains: [
    {
      name: 'base',
      id: 8453,
      rpcUrls: ['http://127.0.0.1:8545'],
      startBlock: 0,
      pollIntervalMs: 500,
      finality: 'tag',
      staleAfterSeconds: 60,
    },
    {
      name: 'ethereum',
      id: 1,
      rpcUrls: ['http://127.0.0.1:8546'],
      startBlock: 0,
      pollIntervalMs: 1_000,
      finality: 'tag',
      staleAfterSeconds: 60,
    },
    {
      name: 'arbitrum',
      id: 42161,
      rpcUrls: ['http://127.0.0.1:8547'],
      startBlock: 0,
      pollIntervalMs: 1_000,
      finality: 'tag',
      staleAfterSeconds: 60,
    },
  ],
  tokens: [
    {
      symbol: 'GRAVE',
      name: 'Gravestone',
      role: 'primary',
      decimals: 18,
      addresses: { base: GRAVE, ethereum: GRAVE, arbitrum: GRAVE },
      price: {
        kind: 'uniswap-v2',
        chain: 'base',
        address: '0x25DD7624ABe74DBb21388C7bCD76D79A6e6831D0',
        quote: 'WETH',
      },
    },
    {
      symbol: 'CRYPT',
      name: 'Crypt',
      role: 'secondary',
      decimals: 18,
      addresses: { base: CRYPT, ethereum: CRYPT, arbitrum: CRYPT },
      price: {
        kind: 'uniswap-v2',
        chain: 'base',
        address: '0x030475f0f4A6B988e11745Bf654cECf7A2A2ed72',
        quote: 'WETH',
      },
    },
    {
      symbol: 'WETH',
      name: 'Wrapped Ether',
      role: 'reward',
      decimals: 18,
      addresses: {
        base: '0x4200000000000000000000000000000000000006',
        ethereum: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
        arbitrum: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
      },
      price: {
        kind: 'chainlink',
        chain: 'base',
        address: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9',
        decimals: 8,
      },
    },
    {
      symbol: 'USDC',
      name: 'USD Coin',
      role: 'reward',
      decimals: 6,
      addresses: {
        base: USDC_ON_BASE,
        ethereum: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
        arbitrum: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
      },
      price: { kind: 'fixed', usd: '1' },
    },
  ],
  supply: {
    burnAddresses: [DEAD],
    nonCirculating: [{ address: TREASURY, label: 'treasury' }],
  },
  burns: chains.flatMap((chain) =>
    [
      { token: 'GRAVE', address: GRAVE },
      { token: 'CRYPT', address: CRYPT },
    ].map(({ token, address }) => ({
      chain,
      address,
      token,
      event: TRANSFER,
      where: { to: [ZERO, DEAD] },
      from: 'from',
      to: 'to',
      amount: 'value',
    })),
  ),
  dividends: chains.flatMap((chain) => [
    {
      chain,
      address: DISTRIBUTOR,
      event:
        'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
      kind: 'claim' as const,
      recipient: 'account',
      tokenArgument: 'token',
      amount: 'amount',
    },
    {
      chain,
      address: DISTRIBUTOR,
      event: 'event DividendDistributed(address indexed token, uint256 amount)',
      kind: 'distribution' as const,
      tokenArgument: 'token',
      amount: 'amount',
    },
  ]),
  graveDigs: chains.map((chain) => ({
    chain,
    address: GRAVEYARD,
    token: 'GRAVE',
    event: 'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
    digger: 'digger',
    graveId: 'graveId',
    amount: 'amount',
  })),
  payment: {
    chain: 'base',
    asset: USDC_ON_BASE,
    symbol: 'USDC',
    domain: { name: 'USD Coin', version: '2' },
    confirmations: 2,
    payTo: [{ address: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65', since: '2025-01-01' }],
  },
  quotas: { anonymous: 500, free: 2_000, premium: 50_000 },
  pricePerCallUsd: '0.0001',
  gate: { chain: 'base', minimumUsd: '100', depthBlocks: 2, averagePriceMinutes: 30 },
  premium: { supplyPerMille: 1 },
} satisfies EcosystemFile

/** A file with every part that the local ecosystem has. */
export type LocalFile = EcosystemFile & Required<Pick<EcosystemFile, keyof typeof localEcosystem>>

export default localEcosystem

/** The file without all that is on other chains. */
export function onChains(file: LocalFile, names: readonly string[]): LocalFile {
  const isOn = ({ chain }: { readonly chain: string }) => names.includes(chain)
  return {
    ...file,
    chains: file.chains.filter(({ name }) => names.includes(name)),
    tokens: file.tokens.map((token) => ({
      ...token,
      addresses: Object.fromEntries(
        Object.entries(token.addresses).filter(([name]) => names.includes(name)),
      ),
    })),
    burns: file.burns.filter(isOn),
    dividends: file.dividends.filter(isOn),
    graveDigs: file.graveDigs.filter(isOn),
  }
}
