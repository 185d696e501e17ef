package io.jrun.train.model;

import io.jrun.comm.Device;

/**
 * The facts that a training program gives to a model before the model is built.
 *
 * @param vocabulary the number of different tokens
 * @param context the tokens of one text
 * @param device the device of the parameters
 * @param seed decides the first values
 */
public record ModelSetup(int vocabulary, int context, Device device, long seed) {}
