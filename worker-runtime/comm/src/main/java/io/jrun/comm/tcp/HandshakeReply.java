package io.jrun.comm.tcp;

/** The reply to an authenticated caller. The wire carries the position of the constant: add constants at the end. */
enum HandshakeReply {
    /** The connection is accepted. For a notice: the notice is received. */
    ACCEPTED,
    /** The called side is dialing too, and its connection takes precedence. That connection will arrive. */
    DUPLICATE,
    /** The group of the called side has failed; the cause follows. For a notice: the cause differs from the notice. */
    FAILED,
    /** The called side has closed the group. */
    CLOSED
}
