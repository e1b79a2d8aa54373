import type { Address } from 'viem'

export interface ChainAddresses {
  readonly grave: Address
  readonly crypt: Address
  readonly usdc: Address
  readonly weth: Address
  readonly distributor: Address
  readonly graveyard: Address
  /** ETH / USD, 8 decimals, Chainlink's interface. */
  readonly ethUsdFeed: Address
  /** Uniswap v2, on base only. */
  readonly market?: MarketAddresses
}

/** Both tokens against wrapped ether. */
export interface MarketAddresses {
  readonly factory: Address
  readonly router: Address
  readonly gravePair: Address
  readonly cryptPair: Address
}

/** EIP-155, as on the real networks. */
export const chainIds = { base: 8453, ethereum: 1, arbitrum: 42161 } as const

export type ChainName = keyof typeof chainIds

export const chainNames = Object.keys(chainIds) as ChainName[]

/** Same deployer and nonces, so the same addresses on every chain. */
const created = {
  grave: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  crypt: '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512',
  distributor: '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0',
  graveyard: '0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9',
  ethUsdFeed: '0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9',
} as const

const base = {
  ...created,
  usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  weth: '0x4200000000000000000000000000000000000006',
  market: {
    factory: '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707',
    router: '0x0165878A594ca255338adfa4d48449f69242Eb8F',
    gravePair: '0x25DD7624ABe74DBb21388C7bCD76D79A6e6831D0',
    cryptPair: '0x030475f0f4A6B988e11745Bf654cECf7A2A2ed72',
  },
} as const satisfies ChainAddresses

const ethereum = {
  ...created,
  usdc: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  weth: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
} as const satisfies ChainAddresses

const arbitrum = {
  ...created,
  usdc: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  weth: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
} as const satisfies ChainAddresses

/** USDC and wrapped ether have their real addresses. */
export const addresses = { base, ethereum, arbitrum } as const

export function namedAddresses(chain: ChainAddresses): Readonly<Record<string, Address>> {
  const { market, ...rest } = chain
  return { ...rest, ...market }
}

/** Tokens sent here are out of reach. */
export const burnAddress = '0x000000000000000000000000000000000000dEaD'

/**
 * In the order of the development mnemonic. operator: deploys, owns the tokens, funds dividends,
 * writes the price feed. holder: over 100 USD of both tokens on base and 1000 USDC. premium: over
 * 0.1 % of CRYPT on base. poor: ether only. relayer: settles x402 payments. treasury: holds
 * non-circulating GRAVE.
 */
export const accounts = {
  operator: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  holder: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  premium: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  poor: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  relayer: '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  treasury: '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
} as const satisfies Readonly<Record<string, Address>>

export type AccountName = keyof typeof accounts
