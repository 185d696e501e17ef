package io.jrun.comm;

/**
 * The envelope of a received message.
 *
 * @param source group rank of the sender
 * @param tag tag of the message
 * @param count number of elements
 */
public record Received(int source, int tag, long count) {}
