package io.jrun.train.expert;

import org.bytedeco.pytorch.Tensor;

/**
 * The experts of the tokens of one forward pass.
 *
 * @param choices the accepted choices, expert by expert
 * @param tokens_A the token of each accepted choice, of type Long
 * @param weights_A the factor of the expert's output for this token
 * @param loss the weighted auxiliary losses, one number
 */
record Routing(AcceptedChoices choices, Tensor tokens_A, Tensor weights_A, Tensor loss) {}
