package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.RankMap;
import java.util.List;

/** Hears how a job goes, on the coordinator's thread; must not wait. */
public interface JobObserver {
    /** All workers are being started, the first time or again. */
    void launched(int restartCount, RankMap ranks);

    /** A worker has a process, whose files are in {@code logFolder} below the job's. */
    void started(int rank, long pid, String logFolder);

    /** The ranks that have been late so far, all of them; again where that changes. */
    void late(List<Straggler> stragglers);

    /** A worker is gone. */
    void ended(WorkerResult end);
}
