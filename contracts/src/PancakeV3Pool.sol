// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A pool with the views and the event of PancakeSwap v3: Uniswap's, with the fees of the protocol added.
contract PancakeV3Pool {
    event Swap(
        address indexed sender,
        address indexed recipient,
        int256 amount0,
        int256 amount1,
        uint160 sqrtPriceX96,
        uint128 liquidity,
        int24 tick,
        uint128 protocolFeesToken0,
        uint128 protocolFeesToken1
    );

    address public immutable token0;
    address public immutable token1;
    uint160 private constant ONE = 2 ** 96;

    constructor(address first, address second) {
        (token0, token1) = first < second ? (first, second) : (second, first);
    }

    function slot0() external pure returns (uint160, int24, uint16, uint16, uint16, uint32, bool) {
        return (ONE, 0, 0, 1, 1, 209718400, true);
    }

    function swap() external {
        emit Swap(msg.sender, msg.sender, 1000, -990, ONE, 10 ** 24, 0, 0, 0);
    }
}
