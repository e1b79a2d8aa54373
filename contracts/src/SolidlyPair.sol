// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title A pair with the views and the event of Solidly's: those of Uniswap v2, but with wider reserves.
contract SolidlyPair {
    event Sync(uint256 reserve0, uint256 reserve1);

    address public immutable token0;
    address public immutable token1;

    constructor(address first, address second) {
        (token0, token1) = first < second ? (first, second) : (second, first);
    }

    function getReserves() public view returns (uint256 reserve0, uint256 reserve1, uint256 updatedAt) {
        return (IERC20(token0).balanceOf(address(this)), IERC20(token1).balanceOf(address(this)), block.timestamp);
    }

    function sync() external {
        (uint256 reserve0, uint256 reserve1,) = getReserves();
        emit Sync(reserve0, reserve1);
    }
}
