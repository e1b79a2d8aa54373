import type { Address } from '#base/address.ts'

/**
 * Addresses that pools and payments on public chains are made of. Nothing here is taken for
 * granted: `init` reads symbol, decimals and description from the contracts before it uses one.
 */
export interface KnownChain {
  readonly name: string
  readonly explorerUrl: string
  /** The wrapped native coin, and Chainlink's feed of it in dollars (the proxy). */
  readonly wrapped: Address
  readonly wrappedFeed: Address
  readonly usdc: Address
  readonly uniswapV2Factory?: Address
  readonly uniswapV3Factory?: Address
}

const UNISWAP_V3 = '0x1f98431c8ad98523631ae4a59f267346ea31f984'
const WRAPPED_ON_OP_STACK = '0x4200000000000000000000000000000000000006'

export const KNOWN_CHAINS: Readonly<Partial<Record<number, KnownChain>>> = {
  1: {
    name: 'ethereum',
    explorerUrl: 'https://etherscan.io',
    wrapped: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
    wrappedFeed: '0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419',
    usdc: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    uniswapV2Factory: '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f',
    uniswapV3Factory: UNISWAP_V3,
  },
  10: {
    name: 'optimism',
    explorerUrl: 'https://optimistic.etherscan.io',
    wrapped: WRAPPED_ON_OP_STACK,
    wrappedFeed: '0x13e3ee699d1909e989722e753853ae30b17e08c5',
    usdc: '0x0b2c639c533813f4aa9d7837caf62653d097ff85',
    uniswapV3Factory: UNISWAP_V3,
  },
  56: {
    name: 'bnb',
    explorerUrl: 'https://bscscan.com',
    wrapped: '0xbb4cdb9cbf36b01bd1cbaebf2de08d9173bc095c',
    wrappedFeed: '0x0567f2323251f0aab15c8dfb1967e4e8a7d42aee',
    usdc: '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d',
    uniswapV2Factory: '0xca143ce32fe78f1f7019d7d551a6402fc5350c73',
    uniswapV3Factory: '0xdb1d10011ad0ff90774d0c6bb92e5c5c8b4461f7',
  },
  137: {
    name: 'polygon',
    explorerUrl: 'https://polygonscan.com',
    wrapped: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270',
    wrappedFeed: '0xab594600376ec9fd91f8e885dadf0ce036862de0',
    usdc: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
    uniswapV3Factory: UNISWAP_V3,
  },
  8453: {
    name: 'base',
    explorerUrl: 'https://basescan.org',
    wrapped: WRAPPED_ON_OP_STACK,
    wrappedFeed: '0x71041dddad3595f9ced3dccfbe3d1f4b0a16bb70',
    usdc: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    uniswapV2Factory: '0x8909dc15e40173ff4699343b6eb8132c65e18ec6',
    uniswapV3Factory: '0x33128a8fc17869897dce68ed026d694621f6fdfd',
  },
  42161: {
    name: 'arbitrum',
    explorerUrl: 'https://arbiscan.io',
    wrapped: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
    wrappedFeed: '0x639fe6ab55c921f74e7fac1ee960c0b6293ba612',
    usdc: '0xaf88d065e77c8cc2239327c5edb3a432268e5831',
    uniswapV2Factory: '0xf1d7cc64fb4452f05c498126312ebe29f30fbcf9',
    uniswapV3Factory: UNISWAP_V3,
  },
}
