import {
  type Address,
  concatHex,
  encodeAbiParameters,
  type Hex,
  maxUint256,
  parseAbiParameters,
  toFunctionSelector,
} from 'viem'

/** `to` is absent for contract creation. */
export interface Call {
  readonly from: Address
  readonly to?: Address
  readonly data: Hex
  readonly value?: bigint
}

export const calls = {
  transfer: (input: { token: Address; from: Address; to: Address; amount: bigint }): Call => ({
    from: input.from,
    to: input.token,
    data: encoders.transfer(input.to, input.amount),
  }),
  burn: (input: { token: Address; from: Address; amount: bigint }): Call => ({
    from: input.from,
    to: input.token,
    data: encoders.burn(input.amount),
  }),
  approveAll: (input: { token: Address; from: Address; spender: Address }): Call => ({
    from: input.from,
    to: input.token,
    data: encoders.approve(input.spender, maxUint256),
  }),
  mint: (input: { token: Address; from: Address; to: Address; amount: bigint }): Call => ({
    from: input.from,
    to: input.token,
    data: encoders.mint(input.to, input.amount),
  }),
  initialize: (input: { token: Address; from: Address; minter: Address }): Call => ({
    from: input.from,
    to: input.token,
    data: encoders.initialize(input.minter),
  }),
  wrap: (input: { weth: Address; from: Address; amount: bigint }): Call => ({
    from: input.from,
    to: input.weth,
    data: encoders.deposit(),
    value: input.amount,
  }),
  distribute: (input: {
    distributor: Address
    from: Address
    token: Address
    amount: bigint
  }): Call => ({
    from: input.from,
    to: input.distributor,
    data: encoders.distribute(input.token, input.amount),
  }),
  credit: (input: {
    distributor: Address
    from: Address
    token: Address
    accounts: readonly Address[]
    amounts: readonly bigint[]
  }): Call => ({
    from: input.from,
    to: input.distributor,
    data: encoders.credit(input.token, input.accounts, input.amounts),
  }),
  claim: (input: {
    distributor: Address
    account: Address
    token: Address
    amount: bigint
  }): Call => ({
    from: input.account,
    to: input.distributor,
    data: encoders.claim(input.token, input.amount),
  }),
  dig: (input: { graveyard: Address; digger: Address; amount: bigint }): Call => ({
    from: input.digger,
    to: input.graveyard,
    data: encoders.dig(input.amount),
  }),
  submitPrice: (input: { feed: Address; from: Address; answer: bigint }): Call => ({
    from: input.from,
    to: input.feed,
    data: encoders.submit(input.answer),
  }),
  createPair: (input: { factory: Address; from: Address; tokens: [Address, Address] }): Call => ({
    from: input.from,
    to: input.factory,
    data: encoders.createPair(...input.tokens),
  }),
  addLiquidity: (input: { pair: Address; from: Address }): Call => ({
    from: input.from,
    to: input.pair,
    data: encoders.mintLiquidity(input.from),
  }),
  swap: (input: {
    router: Address
    trader: Address
    pair: Address
    tokenIn: Address
    amountIn: bigint
  }): Call => ({
    from: input.trader,
    to: input.router,
    data: encoders.swapExactIn(input.pair, input.tokenIn, input.amountIn, input.trader),
  }),
} as const

/** Call data of the views. */
export const reads = {
  balanceOf: (account: Address): Hex => encoders.balanceOf(account),
  creditOf: (account: Address, token: Address): Hex => encoders.creditOf(account, token),
  getReserves: (): Hex => encoders.getReserves(),
} as const

const encoders = {
  transfer: encoder('transfer', 'address,uint256'),
  burn: encoder('burn', 'uint256'),
  approve: encoder('approve', 'address,uint256'),
  mint: encoder('mint', 'address,uint256'),
  initialize: encoder('initialize', 'address'),
  deposit: encoder('deposit', ''),
  distribute: encoder('distribute', 'address,uint256'),
  credit: encoder('credit', 'address,address[],uint256[]'),
  claim: encoder('claim', 'address,uint256'),
  dig: encoder('dig', 'uint256'),
  submit: encoder('submit', 'int256'),
  createPair: encoder('createPair', 'address,address'),
  mintLiquidity: encoder('mint', 'address'),
  swapExactIn: encoder('swapExactIn', 'address,address,uint256,address'),
  balanceOf: encoder('balanceOf', 'address'),
  creditOf: encoder('creditOf', 'address,address'),
  getReserves: encoder('getReserves', ''),
}

// Hashes the selector once: history encodes tens of thousands of calls.
function encoder(name: string, types: string): (...values: readonly unknown[]) => Hex {
  const selector = toFunctionSelector(`${name}(${types})`)
  if (types === '') return () => selector
  const parameters = parseAbiParameters(types)
  return (...values) => concatHex([selector, encodeAbiParameters(parameters, values)])
}
