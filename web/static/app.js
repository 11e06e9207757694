// The entry of every page: each module finds its own elements and does nothing where there are none.
import { drawCharts } from "./charts.js";
import { wireActions } from "./actions.js";
import { wireChosen } from "./chosen.js";
import { wireColumns } from "./columns.js";
import { wireExports } from "./exports.js";
import { wireForms } from "./forms.js";
import { wireGenerate } from "./generate.js";
import { wireLive } from "./live.js";
import { wireNavigation } from "./navigation.js";
import { wireOutlook } from "./outlook.js";
import { wireTables } from "./tables.js";
import { wireThemeToggle } from "./themes.js";
import { wireUpload } from "./upload.js";

wireThemeToggle();
wireNavigation();
wireActions();
wireForms();
wireGenerate();
wireOutlook();
wireChosen();
wireUpload();
wireTables();
wireExports();
wireColumns();
drawCharts();
wireLive();
