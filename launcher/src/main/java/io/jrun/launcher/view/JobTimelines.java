package io.jrun.launcher.view;

import io.jrun.comm.file.FileError;
import io.jrun.comm.timeline.Timeline;
import io.jrun.comm.timeline.TimelineFile;
import io.jrun.launcher.record.JobControlRequest;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The timelines of the ranks of a job's last round.
 *
 * @param ranks the timelines that could be read, by rank
 * @param hosts the host of each rank, by rank
 * @param missing why the timeline of a rank could not be read, by rank
 */
public record JobTimelines(Map<Integer, TimelineFile> ranks, Map<Integer, String> hosts, Map<Integer, String> missing) {
    public JobTimelines {
        ranks = Collections.unmodifiableMap(new TreeMap<>(ranks));
        hosts = Collections.unmodifiableMap(new TreeMap<>(hosts));
        missing = Collections.unmodifiableMap(new TreeMap<>(missing));
    }

    /** Reads the timelines of at most {@code most} ranks, the lowest ranks first. */
    public static JobTimelines read(JobView view, int most) {
        Map<Integer, TimelineFile> ranks = new TreeMap<>();
        Map<Integer, String> hosts = new TreeMap<>();
        Map<Integer, String> missing = new TreeMap<>();
        for (RecordedWorker worker : view.record().workers()) {
            hosts.put(worker.rank(), worker.host());
            if (ranks.size() >= most) {
                missing.put(worker.rank(), "only " + most + " ranks are read");
                continue;
            }
            try {
                Optional<Path> file = file(view, worker);
                if (file.isPresent()) {
                    ranks.put(worker.rank(), TimelineFile.read(file.get()));
                } else {
                    missing.put(worker.rank(), reason(view, worker));
                }
            } catch (IOException e) {
                missing.put(worker.rank(), FileError.reason(e));
            }
        }
        return new JobTimelines(ranks, hosts, missing);
    }

    /** Asks the launcher of a running job for the timelines of hosts that do not share LOG_DIR. */
    public static void request(JobView view) {
        if (!view.record().isOver()) {
            try {
                List<String> _ = JobControlRequest.send(view.logs(), "timelines");
            } catch (IOException e) {
                // the launcher is on another host; the ranks without a timeline are named
            }
        }
    }

    private static Optional<Path> file(JobView view, RecordedWorker worker) {
        return view.logFolder(worker)
                .map(folder -> folder.resolve(Timeline.fileName(view.facts().round())))
                .filter(Files::exists);
    }

    private static String reason(JobView view, RecordedWorker worker) {
        if (worker.logFolder().isEmpty()) {
            return "it has not started";
        }
        return Files.isDirectory(view.logs().resolve(worker.logFolder()))
                ? "it has no timeline; only programs that use jrun's runtime have one"
                : "its files are on " + worker.host();
    }
}
