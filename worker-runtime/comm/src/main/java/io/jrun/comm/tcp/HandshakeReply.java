package io.jrun.comm.tcp;

/** How the called side answers a caller that has proved itself. The constant's place goes over the wire: add at the end. */
enum HandshakeReply {
    /** The connection is the pair's connection now; for a notice: taken note of. */
    ACCEPTED,
    /** The called side is dialling too, and its connection goes before this one: it will arrive. */
    DUPLICATE,
    /** The called side's group has failed; the reason follows. For a notice: for another reason than the notice gave. */
    FAILED,
    /** The called side has closed the group. */
    CLOSED
}
