package io.jrun.launcher.report;

import io.jrun.agent.container.ContainerSpec;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** {@code --dry-run --json}: the rank map as one JSON object on one line. Stateless. */
public final class RankMapJson {
    private RankMapJson() {}

    /**
     * The rank map of a dry run.
     *
     * @param gpus the places of the GPUs
     * @param commands by rank
     * @param container of each worker; empty for none
     */
    public static String of(
            List<Placement> placements,
            GpuTopology gpus,
            List<List<String>> commands,
            Optional<ContainerSpec> container) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ranks", ranks(placements, commands));
        json.put("gpus", gpus.json());
        container.ifPresent(spec -> json.put("container", DryRun.words(spec)));
        return JsonLine.of(json);
    }

    /**
     * The notes of {@link DryRun} about the hosts of a job.
     *
     * @param standingBy hosts without ranks at the beginning
     * @param uncounted hosts whose numbers of workers depend on their GPUs; the map has one rank on each
     * @param slurm how many workers a node of the allocation has, and by which rule; empty without one
     */
    public record HostNotes(
            NodePolicy policy,
            List<String> standingBy,
            List<String> uncounted,
            Optional<String> slurm,
            JobFiles files) {
        public HostNotes {
            standingBy = List.copyOf(standingBy);
            uncounted = List.copyOf(uncounted);
        }
    }

    /** The same on hosts. */
    public static String of(
            List<Placement> placements,
            List<List<String>> commands,
            HostNotes notes,
            Optional<ContainerSpec> container) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ranks", ranks(placements, commands));
        json.put("minNodes", notes.policy().min());
        json.put("maxNodes", notes.policy().max());
        json.put("standingBy", notes.standingBy());
        json.put("uncounted", notes.uncounted());
        notes.slurm().ifPresent(words -> json.put("slurm", words));
        json.put("files", notes.files().trees().stream().map(RankMapJson::files).toList());
        container.ifPresent(spec -> json.put("container", DryRun.words(spec)));
        return JsonLine.of(json);
    }

    private static Map<String, Object> files(JobFiles.Tree tree) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("path", tree.path().toString());
        json.put("files", tree.entries().size());
        json.put("bytes", tree.bytes());
        return json;
    }

    private static List<Map<String, Object>> ranks(List<Placement> placements, List<List<String>> commands) {
        List<Map<String, Object>> ranks = new ArrayList<>();
        for (Placement place : placements) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("rank", place.rank());
            json.put("host", place.host());
            json.put("nodeRank", place.nodeRank());
            json.put("localRank", place.localRank());
            json.put("device", place.gpu());
            json.put("command", commands.get(place.rank()));
            ranks.add(json);
        }
        return ranks;
    }
}
