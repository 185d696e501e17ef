package io.jrun.launcher.report;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * The file of NCCL_TOPO_FILE, from which NCCL takes the paths between GPUs and network adapters. NCCL says nothing about
 * a file that it leaves out, unless NCCL_DEBUG=WARN is set. Its reader knows a part of XML only. Source: {@code xml.cc} of
 * NCCL, {@code ncclTopoGetXmlFromFile}. Stateless.
 */
public final class NcclTopologyFile {
    private static final String VARIABLE = "NCCL_TOPO_FILE";
    private static final String ROOT = "system";
    private static final String VERSION = "1";
    private static final int MOST_BYTES = 16 << 20;
    private static final Pattern COMMENT = Pattern.compile("<!--.*?-->", Pattern.DOTALL);
    private static final String LEFT_OUT = "so NCCL reads the topology of the machine";
    private static final String FAILS = "so NCCL makes no communicator";

    private NcclTopologyFile() {}

    /** One line about the file on this machine; none if the workers get no such variable. */
    public static List<String> lines(Map<String, String> environment, Path directory) {
        String name = environment.getOrDefault(VARIABLE, "");
        if (name.isEmpty()) {
            return List.of();
        }
        Path file = directory.resolve(name);
        String line;
        try {
            line = contents(UserFile.text(file, MOST_BYTES));
        } catch (IOException e) {
            line = FileError.reason(e, file) + ", " + LEFT_OUT;
        } catch (XMLStreamException _) {
            line = "the file is no whole XML, " + FAILS;
        }
        return List.of(VARIABLE + "=" + name + ": " + line);
    }

    private static String contents(String file) throws XMLStreamException {
        String text = COMMENT.matcher(file).replaceAll("");
        if (text.contains("<?")) {
            return "the file has a line <?...?>, which NCCL cannot read, " + FAILS;
        }
        if (text.contains("\t")) {
            return "the file has tabs, which NCCL cannot read, " + FAILS;
        }
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        XMLStreamReader reader = factory.createXMLStreamReader(new StringReader(text));
        int gpus = 0;
        int adapters = 0;
        boolean isRoot = true;
        while (reader.hasNext()) {
            if (reader.next() == XMLStreamReader.START_ELEMENT) {
                String element = reader.getLocalName();
                if (isRoot && !element.equals(ROOT)) {
                    return "the first element is " + element + ", not " + ROOT + ", " + LEFT_OUT;
                }
                if (isRoot && !VERSION.equals(reader.getAttributeValue(null, "version"))) {
                    return "the element " + ROOT + " has no version=\"" + VERSION + "\", " + FAILS;
                }
                isRoot = false;
                gpus += element.equals("gpu") ? 1 : 0;
                adapters += element.equals("net") ? 1 : 0;
            }
        }
        return "the file has " + gpus + " GPUs and " + adapters + " network adapters";
    }
}
