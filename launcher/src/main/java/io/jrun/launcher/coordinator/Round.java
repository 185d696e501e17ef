package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.CoordinatorInput.Endpoint;
import io.jrun.launcher.layout.Placement;
import java.util.List;
import java.util.Optional;

/**
 * One start of all workers. Immutable.
 *
 * @param joined endpoints of the nodes whose workers have all joined, by node id
 * @param left ranks whose departure was reported to the others
 * @param pids known process ids, by rank
 * @param ended the ended workers, by rank
 * @param order the ended workers in order of time
 * @param elastic ranks that can continue in another round
 * @param parked process ids of the workers that have left the round and wait for the next, by rank
 * @param regrouping whether the elastic workers were requested to leave the round
 */
record Round(
        int number,
        Membership membership,
        PersistentVector<List<Endpoint>> joined,
        PersistentVector<Boolean> left,
        PersistentVector<Long> pids,
        PersistentVector<WorkerResult> ended,
        PersistentVector<WorkerResult> order,
        PersistentVector<Boolean> elastic,
        PersistentVector<Long> parked,
        boolean regrouping) {
    private static final int DIED_OF_SIGKILL = 137;

    static Round start(int number, Membership membership) {
        return new Round(
                number,
                membership,
                PersistentVector.empty(),
                PersistentVector.empty(),
                PersistentVector.empty(),
                PersistentVector.empty(),
                PersistentVector.empty(),
                PersistentVector.empty(),
                PersistentVector.empty(),
                false);
    }

    int worldSize() {
        return membership.worldSize();
    }

    boolean hasEnded(int rank) {
        return ended.has(rank);
    }

    /** The ended workers in order of time. */
    List<WorkerResult> ends() {
        return order.values();
    }

    /** Whether each worker has ended. */
    boolean isReaped() {
        return ended.size() == worldSize();
    }

    /** Whether each worker has ended or parked. */
    boolean isOver() {
        return ended.size() + parked.size() == worldSize();
    }

    /** Whether all workers can continue in another round. */
    boolean isElastic() {
        return elastic.size() == worldSize();
    }

    Round withJoined(int id, List<Endpoint> endpoints) {
        PersistentVector<List<Endpoint>> more = joined.with(id, List.copyOf(endpoints));
        return new Round(number, membership, more, left, pids, ended, order, elastic, parked, regrouping);
    }

    Round withLeft(int rank) {
        return new Round(
                number, membership, joined, left.with(rank, true), pids, ended, order, elastic, parked, regrouping);
    }

    Round withPid(int rank, long pid) {
        return new Round(
                number, membership, joined, left, pids.with(rank, pid), ended, order, elastic, parked, regrouping);
    }

    Round withElastic(int rank) {
        return new Round(
                number, membership, joined, left, pids, ended, order, elastic.with(rank, true), parked, regrouping);
    }

    Round withParked(int rank, long pid) {
        return hasEnded(rank)
                ? this
                : new Round(
                        number,
                        membership,
                        joined,
                        left,
                        pids,
                        ended,
                        order,
                        elastic,
                        parked.with(rank, pid),
                        regrouping);
    }

    Round asRegrouping() {
        return new Round(number, membership, joined, left, pids, ended, order, elastic, parked, true);
    }

    /** Adds the end of a worker; without effect after the first. */
    Round withEnd(WorkerResult end) {
        int rank = end.rank();
        return hasEnded(rank)
                ? this
                : new Round(
                        number,
                        membership,
                        joined,
                        left,
                        pids,
                        ended.with(rank, end),
                        order.with(order.size(), end),
                        elastic,
                        parked.without(rank),
                        regrouping);
    }

    /** Ends all workers of a lost node. */
    Round withNodeEnded(int id) {
        Round next = this;
        for (Placement place : membership.ranks().onNode(membership.nodeRank(id))) {
            next = next.withEnd(lost(place));
        }
        return next;
    }

    private WorkerResult lost(Placement place) {
        return new WorkerResult(
                place.rank(),
                place.localRank(),
                place.host(),
                pids.get(place.rank()).orElse(0L),
                DIED_OF_SIGKILL,
                true,
                false,
                "",
                "",
                Optional.empty(),
                List.of(),
                List.of(),
                "",
                0,
                "");
    }
}
