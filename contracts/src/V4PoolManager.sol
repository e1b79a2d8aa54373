// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title What Uniswap v4's PoolManager emits at a swap, for any pool.
contract V4PoolManager {
    event Swap(
        bytes32 indexed id,
        address indexed sender,
        int128 amount0,
        int128 amount1,
        uint160 sqrtPriceX96,
        uint128 liquidity,
        int24 tick,
        uint24 fee
    );

    struct PoolKey {
        address currency0;
        address currency1;
        uint24 fee;
        int24 tickSpacing;
        address hooks;
    }

    function swap(PoolKey calldata key, uint160 sqrtPriceX96) external {
        emit Swap(keccak256(abi.encode(key)), msg.sender, 1000, -990, sqrtPriceX96, 10 ** 24, 0, key.fee);
    }
}
