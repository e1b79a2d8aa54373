// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

interface IPair {
    function token0() external view returns (address);
    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast);
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

/// @title Swaps an exact input in one Uniswap v2 pair, with the 0.3 % fee of the pair.
contract PairRouter {
    using SafeERC20 for IERC20;

    function swapExactIn(IPair pair, IERC20 tokenIn, uint256 amountIn, address to)
        external
        returns (uint256 amountOut)
    {
        bool zeroForOne = pair.token0() == address(tokenIn);
        (uint256 reserve0, uint256 reserve1, ) = pair.getReserves();
        (uint256 reserveIn, uint256 reserveOut) = zeroForOne ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 withoutFee = amountIn * 997;
        amountOut = (withoutFee * reserveOut) / (reserveIn * 1000 + withoutFee);
        tokenIn.safeTransferFrom(msg.sender, address(pair), amountIn);
        pair.swap(zeroForOne ? 0 : amountOut, zeroForOne ? amountOut : 0, to, "");
    }
}
