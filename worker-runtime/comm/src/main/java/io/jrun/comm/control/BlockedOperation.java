package io.jrun.comm.control;

import java.util.List;

/**
 * What a rank's program waits for, in an operation that it can do nothing else before the end of.
 *
 * @param operation as messages name it, with its group
 * @param group name of the operation's group
 * @param sequence number of the operation
 * @param isMessage whether it is a message: then it waits for the one rank; else for those that have not entered it
 * @param ranks world ranks
 */
public record BlockedOperation(String operation, String group, long sequence, boolean isMessage, List<Integer> ranks) {
    public BlockedOperation {
        ranks = List.copyOf(ranks);
    }
}
