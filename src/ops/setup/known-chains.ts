/**
 * Addresses that pools and payments on public chains are made of. Nothing here is taken for
 * granted: `init` reads symbol, decimals and description from the contracts before it uses one.
 */
export interface KnownChain {
  readonly name: string
  readonly explorerUrl: string
  /** The wrapped native coin, and Chainlink's feed of it in dollars (the proxy). */
  readonly wrapped: string
  readonly wrappedFeed: string
  readonly usdc: string
  readonly uniswapV2Factory?: string
  readonly uniswapV3Factory?: string
}

const UNISWAP_V3 = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const WRAPPED_ON_OP_STACK = '0x4200000000000000000000000000000000000006'

export const KNOWN_CHAINS: ReadonlyMap<number, KnownChain> = new Map([
  [
    1,
    {
      name: 'ethereum',
      explorerUrl: 'https://etherscan.io',
      wrapped: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
      wrappedFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
      usdc: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      uniswapV2Factory: '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
      uniswapV3Factory: UNISWAP_V3,
    },
  ],
  [
    10,
    {
      name: 'optimism',
      explorerUrl: 'https://optimistic.etherscan.io',
      wrapped: WRAPPED_ON_OP_STACK,
      wrappedFeed: '0x13e3Ee699D1909E989722E753853AE30b17e08c5',
      usdc: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
      uniswapV3Factory: UNISWAP_V3,
    },
  ],
  [
    56,
    {
      name: 'bnb',
      explorerUrl: 'https://bscscan.com',
      wrapped: '0xbb4CdB9CbF36B01bD1cBaEBF2De08d9173bc095c',
      wrappedFeed: '0x0567F2323251f0Aab15c8dFb1967E4e8A7D42aeE',
      usdc: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d',
      uniswapV2Factory: '0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73',
      uniswapV3Factory: '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7',
    },
  ],
  [
    137,
    {
      name: 'polygon',
      explorerUrl: 'https://polygonscan.com',
      wrapped: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
      wrappedFeed: '0xAB594600376Ec9fD91F8e885dADF0CE036862dE0',
      usdc: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      uniswapV3Factory: UNISWAP_V3,
    },
  ],
  [
    8453,
    {
      name: 'base',
      explorerUrl: 'https://basescan.org',
      wrapped: WRAPPED_ON_OP_STACK,
      wrappedFeed: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
      usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      uniswapV2Factory: '0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6',
      uniswapV3Factory: '0x33128a8fC17869897dcE68Ed026d694621f6FDfD',
    },
  ],
  [
    42161,
    {
      name: 'arbitrum',
      explorerUrl: 'https://arbiscan.io',
      wrapped: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
      wrappedFeed: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
      usdc: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
      uniswapV2Factory: '0xf1D7CC64Fb4452F05c498126312eBE29f30Fbcf9',
      uniswapV3Factory: UNISWAP_V3,
    },
  ],
])
