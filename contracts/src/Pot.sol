// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A pot that says what it pays.
contract Pot {
    event Paid(address indexed to, uint256 amount);

    function pay(address to, uint256 amount) external {
        emit Paid(to, amount);
    }
}
